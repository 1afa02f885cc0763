// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>

#include "conv/depth_lanes/sheets.h"
#include "conv/depth_lanes/step.h"
#include "conv/nonfinite.h"
#include "conv/sheets/sheet.h"
#include "exec/pool.h"
#include "kernels/streams.h"

namespace canopy::conv::depth_lanes {
namespace {

using kernels::DepthPixels;
using sheets::LaneBlock;

constexpr int64_t kMostTerms = 256;  // of a sum before a second level

alignas(64) constexpr float kZeros[kernels::kMostDepthLanes] = {};

}  // namespace

// One run of one step.
class DepthRun {
 public:
  DepthRun(const DepthStep& step, const ConvProblem& problem, const Buffers& buffers, const sheets::JointMemory& memory)
      : s_(step),
        p_(problem),
        g_(problem.geometry),
        b_(buffers),
        packed_(memory.weights),
        sums_(memory.sums),
        scratch_(memory.scratch),
        output_(b_.output, p_.output, p_.rule),
        input_(b_.input, p_.input, p_.rule),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        input_result_(b_.input_result, p_.input_result, p_.rule.saturate),
        weight_result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        far_(step.far_ && reinterpret_cast<uintptr_t>(b_.input_result) % kernels::kMemoryLine == 0),
        data_(step.data()),
        weights_(step.weights()),
        bias_(step.bias()),
        nonfinite_(memory.nonfinite) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    const bool nonfinite_weights = data_ && PackFiniteWeights();
    // Of the results other than the weight gradients only weights that are not finite can spoil one.
    const auto take_finite = [this] {
      data_ = bias_ = false;
      input_.TakeFiniteOnly();
      output_.TakeFiniteOnly();
    };
    RunPastNonfinite(
        p_, b_, serial, *nonfinite_, [&] { RunJobs(serial); }, take_finite);
    if (nonfinite_weights) AddNonfiniteWeightTerms(p_, kBackwardData, b_, serial);
  }

 private:
  struct Scratch {
    float *output, *input, *result, *lines;
  };
  // What is computed at once: rows of positions of a block of planes.
  struct Band {
    LaneBlock block;
    int64_t depth, first, rows;
  };
  // What the kernels of one block ask memory for: of the coming band's rows in all channels part `index` of `count`.
  struct Share {
    Band next;
    int64_t index, count;
  };

  int64_t block_floats() const { return g_.taps() * s_.lanes_; }
  float* Sums(int64_t block, int64_t segment) const {
    return sums_ + (segment * s_.layout_.group_blocks + block) * s_.sums_floats_;
  }
  float* Bias(float* sums) const { return sums + (s_.weights() ? block_floats() : 0); }

  Scratch ScratchOf(int worker) const {
    Scratch scratch;
    scratch.output = scratch_.Of<float>(worker);
    scratch.input = scratch.output + s_.output_floats_;
    scratch.result = scratch.input + (s_.weights() ? s_.input_floats_ : 0);
    scratch.lines = scratch.result + (s_.data() ? s_.input_floats_ : 0);
    return scratch;
  }

  // Whether they were not finite, and others stand in.
  bool PackFiniteWeights() {
    PackWeights();
    if (!kernels::Lines().any_nonfinite(packed_, s_.layout_.group_blocks * block_floats())) return false;
    weight_.TakeFiniteOnly();
    PackWeights();
    return true;
  }

  void PackWeights() const {
    float* const plain = ScratchOf(0).lines;
    std::memset(packed_, 0, static_cast<size_t>(s_.layout_.group_blocks * block_floats()) * sizeof(float));
    for (int64_t index = 0; index < s_.layout_.group_blocks; ++index) {
      const LaneBlock block = s_.layout_.At(index, 0);
      sheets::FetchWeights(weight_, p_, block.first_group, block.groups, plain);
      for (int64_t i = 0; i < s_.layout_.block_images; ++i) {
        kernels::Lines().transpose(plain, g_.taps(), block.groups, g_.taps(),
                                   packed_ + index * block_floats() + i * block.groups, s_.input_places_.data());
      }
    }
  }

  void RunJobs(bool serial) const {
    const int64_t segments = s_.segments_, blocks = s_.layout_.group_blocks;
    exec::ParallelFor(s_.chunks_ * segments, serial, [&](int64_t index, int worker) {
      const int64_t first = index / segments * s_.chunk_;
      Job(first, std::min(blocks, first + s_.chunk_), index % segments, ScratchOf(worker));
    });
    if (!weights_ && !bias_) return;
    exec::ParallelFor(blocks, true, [&](int64_t block, int worker) { Finish(block, ScratchOf(worker)); });
  }

  void Job(int64_t first, int64_t end, int64_t segment, const Scratch& scratch) const {
    std::fill(scratch.output, s_.gaps_ ? scratch.lines : scratch.input, 0.0f);
    std::fill(Sums(first, segment), Sums(end, segment), 0.0f);
    const int64_t last = (segment + 1) * s_.items_ / s_.segments_;
    for (int64_t item = segment * s_.items_ / s_.segments_; item < last; ++item) {
      const Band next = BandAt(std::min(item + 1, last - 1), first);
      for (int64_t index = first; index < end; ++index) {
        const Band band = BandAt(item, index);
        // Lanes without a plane must not keep another block's, nor what is not finite.
        if (band.block.lanes() < s_.layout_.block_groups * s_.layout_.block_images) {
          std::fill(scratch.output, scratch.lines, 0.0f);
        }
        AddBand(band, {next, index - first, end - first}, index, scratch, Sums(index, segment));
      }
    }
    if (far_) kernels::FinishStreams();
  }

  Band BandAt(int64_t item, int64_t index) const {
    const int64_t plane = item / s_.bands_, row = item % s_.bands_ * s_.band_, depths = g_.output_size[0];
    return {s_.layout_.At(index, plane / depths), plane % depths, row, std::min(s_.band_, s_.rows_.positions - row)};
  }

  void AddBand(const Band& band, const Share& share, int64_t index, const Scratch& scratch, float* sums) const {
    LoadOutput(band, scratch, Bias(sums));
    const int64_t stride = g_.stride[1], first = band.first * stride;
    const PixelRows rows{band.depth, first, std::min(band.rows * stride, g_.input_size[1] - first), g_.input_size[2]};
    const DepthPixels<const float> x = PlaceInput(band, rows, scratch);
    float* const direct = !data_ || s_.gaps_ ? nullptr : input_result_.Direct(band.block, band.depth, first);
    const auto& strides = p_.input_result.strides;
    const DepthPixels<float> result =
        direct != nullptr ? DepthPixels<float>{direct, strides[3], strides[4]} : PixelsOfSheet(scratch.result);
    kernels::DepthCall call;  // every member is set: cleared at once, it would stall loads of its parts
    call.far = far_ && (direct != nullptr || !data_);
    call.ahead[0] = call.ahead[1] = call.ahead[2] = {nullptr, 0};
    if (call.far) {
      const Band& next = share.next;
      call.ahead[0] = call.ahead[1] = AheadOf(output_, p_.output, next.first + s_.rows_.after, next.rows, share);
      if (weights_) call.ahead[1] = AheadOf(input_, p_.input, next.first * stride, next.rows * stride, share);
    }
    if (s_.asks_) {
      const LaneBlock& next = share.next.block;
      call.ahead[0] = PlanesAhead(output_, p_.output, next);
      if (weights_) call.ahead[1] = PlanesAhead(input_, p_.input, next);
      if (data_) call.ahead[2] = PlanesAhead(input_result_, p_.input_result, next);
    }
    call.taps = packed_ + index * block_floats();
    call.sums = sums;
    for (const sheets::Pass& pass : s_.passes_) {
      AddPass(pass, band, x, result, scratch, call);
      for (auto& ahead : call.ahead) ahead.from += band.rows * s_.columns_.positions * ahead.step;
    }
    if (data_ && direct == nullptr) input_result_.Store(band.block, rows, scratch.result, scratch.lines);
  }

  // Rows from `first` on, which follow one another in memory, over all passes.
  kernels::DepthAhead AheadOf(const SheetReader& tensor, const Operand& operand, int64_t first, int64_t rows,
                              const Share& share) const {
    const int64_t bytes = rows * operand.strides[3] * numerics::ElementBytes(operand.dtype) / share.count;
    const int64_t pixels = static_cast<int64_t>(s_.passes_.size()) * share.next.rows * s_.columns_.positions;
    return {tensor.Address(share.next.block, share.next.depth, first) + share.index * bytes, bytes / pixels + 1};
  }

  // All planes of a block, which follow one another, over all passes.
  template <class Tensor>
  kernels::DepthAhead PlanesAhead(const Tensor& tensor, const Operand& operand, const LaneBlock& block) const {
    const int64_t bytes = block.groups * operand.strides[1] * numerics::ElementBytes(operand.dtype);
    const int64_t pixels = static_cast<int64_t>(s_.passes_.size()) * s_.band_ * s_.columns_.positions;
    return {tensor.Address(block, 0, 0), bytes / pixels + 1};
  }

  // Output rows from first - before on that the band reads, and their sum where the bands before did not read them.
  void LoadOutput(const Band& band, const Scratch& scratch, float* bias) const {
    const int64_t exist = s_.rows_.Existing(), start = band.first - s_.rows_.before;
    const int64_t first = std::clamp<int64_t>(start, 0, exist);
    const int64_t end = std::clamp(band.first + band.rows + s_.rows_.after, first, exist);
    float* const origin = scratch.output + s_.front_;
    const auto row = [&](int64_t y) { return origin + (y - start) * s_.row_pitch_; };
    if (s_.bands_ > 1) {  // of other rows' places some are zeros now
      std::fill(origin, row(first), 0.0f);
      std::fill(row(end), row(band.first + band.rows + s_.rows_.after), 0.0f);
    }
    output_.Load(band.block, {band.depth, first, end - first, s_.columns_.Existing()}, s_.output_places_.data(),
                 scratch.lines, row(first));
    if (!bias_) return;
    const int64_t seen = band.first == 0 ? first : std::clamp(band.first + s_.rows_.after, first, end);
    kernels::DepthLanes().add_up(row(seen), (end - seen) * s_.row_pitch_ / s_.lanes_, bias);
  }

  template <class T>
  DepthPixels<T> PixelsOfSheet(T* sheet) const {
    return {sheet, g_.input_size[2] * s_.lanes_, s_.lanes_};
  }

  DepthPixels<const float> PlaceInput(const Band& band, const PixelRows& rows, const Scratch& scratch) const {
    if (!weights_) return {kZeros, 0, 0};
    const auto& strides = p_.input.strides;
    if (const float* direct = input_.Direct(band.block, rows.depth, rows.first))
      return {direct, strides[3], strides[4]};
    input_.Load(band.block, rows, s_.input_places_.data(), scratch.lines, scratch.input);
    return PixelsOfSheet<const float>(scratch.input);
  }

  static const sheets::Residue& ResidueOf(const sheets::Reach& reach, int64_t index) {
    return reach.residues[static_cast<size_t>(index)];
  }

  void AddPass(const sheets::Pass& pass, const Band& band, const DepthPixels<const float>& x,
               const DepthPixels<float>& result, const Scratch& scratch, kernels::DepthCall call) const {
    const sheets::Residue &h = ResidueOf(s_.rows_, pass.row_residue), &w = ResidueOf(s_.columns_, pass.column_residue);
    // Every stride-th pixel from the residue's first on.
    const auto residue = [&](auto pixels) {
      pixels.first += pass.row_residue * pixels.row + pass.column_residue * pixels.column;
      pixels.row *= g_.stride[1];
      pixels.column *= g_.stride[2];
      return pixels;
    };
    const int64_t width = g_.kernel[2];
    const int64_t tap = (h.kernel + pass.row * g_.stride[1]) * width + w.kernel + pass.column * g_.stride[2];
    call.g = scratch.output + s_.front_ + (s_.rows_.before - h.first - pass.row) * s_.row_pitch_ -
             (w.first + pass.column) * s_.lanes_;
    call.g_row = s_.row_pitch_;
    call.x = residue(x);
    call.result = residue(result);
    call.before = pass.first ? DepthPixels<const float>{kZeros, 0, 0}
                             : DepthPixels<const float>{call.result.first, call.result.row, call.result.column};
    call.rows = std::clamp<int64_t>(h.input - band.first, 0, band.rows);
    call.columns = w.input;
    call.taps += tap * s_.lanes_;
    call.sums += tap * s_.lanes_;
    call.tap_row = g_.stride[1] * width * s_.lanes_;
    call.tap_column = g_.stride[2] * s_.lanes_;
    if (call.rows > 0 && call.columns > 0) RunParts(pass, call);
  }

  // In parts that add no more than kMostTerms to a sum.
  void RunParts(const sheets::Pass& pass, const kernels::DepthCall& whole) const {
    const auto what = !data_ ? kernels::kDepthWeights : !weights_ ? kernels::kDepthData : kernels::kDepthBoth;
    const kernels::DepthFn kernel = kernels::DepthLanes().kernels[what][pass.rows][pass.columns];
    const int64_t columns = std::min(kMostTerms, whole.columns);
    const int64_t rows = std::clamp<int64_t>(kMostTerms / columns, 1, whole.rows);
    for (int64_t y = 0; y < whole.rows; y += rows) {
      for (int64_t i = 0; i < whole.columns; i += columns) {
        kernels::DepthCall call = whole;
        call.rows = std::min(rows, whole.rows - y);
        call.columns = std::min(columns, whole.columns - i);
        call.g += y * call.g_row + i * s_.lanes_;
        call.x.first += y * call.x.row + i * call.x.column;
        call.before.first += y * call.before.row + i * call.before.column;
        call.result.first += y * call.result.row + i * call.result.column;
        for (auto& ahead : call.ahead) ahead.from += (y * whole.columns + i) * ahead.step;
        kernel(call);
      }
    }
  }

  // Adds up a block's segments, then its images, in their order, and stores them.
  void Finish(int64_t index, const Scratch& scratch) const {
    float* const sums = Sums(index, 0);
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      kernels::Lines().add(Sums(index, segment), s_.sums_floats_, sums);
    }
    const LaneBlock block = s_.layout_.At(index, 0);
    if (block.images > 1) {
      for (float* at = sums; at + s_.lanes_ <= sums + s_.sums_floats_; at += s_.lanes_) {
        for (int64_t l = block.groups; l < block.lanes(); ++l) at[l % block.groups] += at[l];
      }
    }
    if (weights_) FinishWeights(block, sums, scratch.lines);
    if (!bias_) return;
    sheets::StoreBiases(p_, b_, block.first_group, block.groups, Bias(sums));
  }

  void FinishWeights(const LaneBlock& block, const float* sums, float* plain) const {
    const int64_t taps = g_.taps(), count = block.groups * taps;
    int64_t offsets[kernels::kMostDepthLanes];
    for (int64_t c = 0; c < block.groups; ++c) offsets[c] = c * taps;
    kernels::Lines().transpose(sums, s_.lanes_, taps, block.groups, plain, offsets);
    if (kernels::Lines().any_nonfinite(plain, count)) nonfinite_->store(1, std::memory_order_relaxed);
    sheets::StoreWeights(weight_result_, p_, block.first_group, block.groups, plain);
  }

  const DepthStep& s_;
  const ConvProblem& p_;
  const Geometry& g_;
  const Buffers& b_;
  float *packed_, *sums_;
  plan::Shares scratch_;
  SheetReader output_, input_;
  LineReader weight_;
  SheetWriter input_result_;
  LineWriter weight_result_;
  bool far_;                    // kernels are those for tensors in memory
  bool data_, weights_, bias_;  // what is wanted now
  std::atomic<int>* nonfinite_;
};

void DepthStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                    void* workspace) const noexcept {
  DepthRun(*this, problem, buffers, workspace_.Fetch(ledger, workspace)).Run();
}

}  // namespace canopy::conv::depth_lanes
