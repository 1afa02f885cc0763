// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/checked_math.h"
#include "conv/joint_planes/bands.h"
#include "conv/joint_planes/input_planes.h"
#include "conv/joint_planes/output_planes.h"
#include "conv/joint_planes/parts.h"
#include "conv/joint_planes/passes.h"
#include "conv/joint_planes/step.h"
#include "conv/nonfinite.h"
#include "conv/sheets/depth.h"
#include "conv/sheets/sheet.h"
#include "exec/pool.h"
#include "kernels/joint_planes/contract.h"
#include "kernels/planes/contract.h"
#include "kernels/streams.h"

namespace canopy::conv::joint_planes {

class JointRun {
 public:
  JointRun(const JointStep& step, const ConvProblem& problem, const Buffers& buffers, const sheets::JointMemory& memory)
      : s_(step),
        p_(problem),
        g_(problem.geometry),
        b_(buffers),
        packed_(memory.weights),
        partial_(memory.sums),
        scratch_(memory.scratch),
        output_(b_.output, p_),
        input_(p_, b_, s_.rows_, {s_.input_floats_, s_.plane_pitch_, s_.row_pitch_}),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        weight_result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        direct_(step.direct_ && step.FormOf(problem) == step.form_),
        kind_(direct_ ? step.kind_ : Kind::kPlain),
        streams_(direct_ && step.streams_ && reinterpret_cast<uintptr_t>(b_.input_result) % kernels::kMemoryLine == 0),
        kernels_(direct_ ? &kernels::JointPlanes(step.kernels_form_) : &kernels::JointPlanes()),
        data_kernels_(direct_ ? &kernels::JointPlanes(DataForm(kind_, step.kernels_form_)) : kernels_),
        data_(step.data()),
        weights_(step.weights()),
        bias_(step.bias()),
        nonfinite_(memory.nonfinite) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    const bool nonfinite_weights = data_ && sheets::FetchFiniteWeights(p_, &weight_, packed_);
    // Of the results other than the weight gradients only weights that are not finite can spoil one.
    const auto take_finite = [this] {
      direct_ = streams_ = false;
      kind_ = Kind::kPlain;
      kernels_ = &kernels::JointPlanes();
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
    float *output, *inputs, *results, *sums, *bias, *line;
  };
  // Planes of the input at one depth of one image.
  struct Sheet : InputPlanes::Planes {
    sheets::SliceRun slices;
  };
  void RunJobs(bool serial) const {
    const int64_t segments = s_.segments_;
    exec::ParallelFor(s_.channel_blocks_ * segments, serial, [&](int64_t index, int worker) {
      Job(index / segments, index % segments, ScratchOf(worker));
      if (segments == 1) Finish(index);
    });
    if (segments == 1) return;
    exec::ParallelFor(s_.channel_blocks_, true, [&](int64_t block, int) { Finish(block); });
  }

  Scratch ScratchOf(int worker) const {
    Scratch scratch;
    scratch.output = scratch_.Of<float>(worker);
    scratch.inputs = scratch.output + s_.output_floats_;
    scratch.results = scratch.inputs + (s_.weights() ? s_.residues() * s_.input_floats_ : 0);
    scratch.sums = scratch.results + (s_.data() ? s_.residues() * s_.input_floats_ : 0);
    scratch.bias = scratch.sums + (s_.weights() ? s_.channel_block_ * g_.taps() * s_.lanes_ : 0);
    scratch.line = scratch.sums + s_.sums_floats_;
    return scratch;
  }

  // From `channel` on, of channels up to `end`.
  Sheet SheetAt(int64_t item, int64_t channel, int64_t end) const {
    const int64_t depth = item % g_.input_size[0], most = s_.PlanesAtOnce(kind_);
    return {{item / g_.input_size[0], depth, channel, std::min(most, end - channel)}, s_.slices_.Of(depth)};
  }

  void Job(int64_t block, int64_t segment, const Scratch& scratch) const {
    const int64_t first = block * s_.channel_block_, end = std::min(g_.groups, first + s_.channel_block_);
    if (!FindsEdges(kind_)) std::fill(scratch.output, direct_ ? scratch.inputs : scratch.sums, 0.0f);
    std::fill(scratch.sums, scratch.line, 0.0f);
    kernels::JointCall call{};
    call.streamed = streams_;
    const int64_t begin = segment * s_.items_ / s_.segments_, last = (segment + 1) * s_.items_ / s_.segments_;
    const int64_t at_once = s_.PlanesAtOnce(kind_);
    Sheet next = SheetAt(begin, first, end);
    const bool alike = CallsAreAlike();
    Sheet before{};
    for (int64_t item = begin; item < last; ++item) {
      for (int64_t c = first; c < end; c += at_once) {
        const Sheet sheet = next;
        if (c + at_once < end) {
          next = SheetAt(item, c + at_once, end);
        } else if (item + 1 < last) {
          next = SheetAt(item + 1, first, end);
        }
        if (alike && call.planes > 0) {
          AddAlike(before, sheet, next, &call);
        } else {
          const int64_t rows = s_.BandRows(kind_);
          for (int64_t row = 0; row < s_.rows_.positions; row += rows) {
            const Band band{row, std::min(rows, s_.rows_.positions - row)};
            AddBand(sheet, band, next, scratch, c - first, &call);
          }
        }
        before = sheet;
      }
    }
    if (weights_) {
      kernels::Planes().reduce(scratch.sums, (end - first) * g_.taps(),
                               partial_ + (segment * g_.groups + first) * g_.taps());
    }
    if (bias_) std::copy(scratch.bias, scratch.bias + end - first, PartialBias(segment) + first);
    if (streams_) kernels::FinishStreams();
  }

  float* PartialBias(int64_t segment) const {
    return partial_ + s_.segments_ * g_.groups * (s_.weights() ? g_.taps() : 0) + segment * g_.groups;
  }

  // Whether all calls of a job are one pass over whole planes of all its channels where these stand. Only these
  // addresses differ then, and finding no more than them takes a fifth of the time; calls of small planes take little
  // more themselves.
  bool CallsAreAlike() const {
    return FindsEdges(kind_) && s_.BandRows(kind_) == s_.rows_.positions && s_.passes(kind_).size() == 1 &&
           g_.kernel[0] == 1 && s_.slices_.fewest() == 1 && s_.PlanesAtOnce(kind_) == s_.channel_block_;
  }

  // The call of `before` for what was next to it.
  void AddAlike(const Sheet& before, const Sheet& sheet, const Sheet& next, kernels::JointCall* call) const {
    const auto apart = [&](int tensor) { return PlaneOf(tensor, sheet, 0) - PlaneOf(tensor, before, 0); };
    call->g.first += apart(0);
    if (weights_) call->x.first += apart(1);
    if (data_) call->result.first += apart(2);
    for (int i = 0; i < 3; ++i) {
      kernels::JointAhead& ahead = call->ahead[i];
      ahead.from = ahead.next;
      ahead.next += PlaneOf(AskedFor(i), next, 0) - PlaneOf(AskedFor(i), sheet, 0);
    }
    RunPass(s_.passes(kind_).front(), *call);
  }

  void AddBand(const Sheet& sheet, const Band& band, const Sheet& next, const Scratch& scratch, int64_t channel,
               kernels::JointCall* call) const {
    const char* x = PlaceInput(sheet, band, scratch);
    char* result = PlaceResult(sheet, scratch);
    const int64_t slices = sheet.slices.count;
    for (int64_t i = 0; i < slices; ++i) {
      const sheets::Slice slice = sheet.slices.At(i);
      float* const bias = bias_ && slice.first ? scratch.bias + channel : nullptr;
      if (!FindsEdges(kind_)) LoadOutput(sheet, slice.output, band, scratch, bias);
      const std::vector<sheets::Pass>& passes = s_.passes(kind_);
      for (size_t j = 0; j < passes.size(); ++j) {
        sheets::Pass pass = passes[j];
        pass.first = pass.first && i == 0;
        pass.last = pass.last && i + 1 == slices;
        SetAhead(sheet, next, band, i, static_cast<int64_t>(j), call);
        call->bias = FindsEdges(kind_) ? bias : nullptr;
        AddPass(pass, slice, sheet, band, x, result, scratch, channel, call);
      }
    }
    if (!data_ || direct_) return;
    if (slices == 0) std::fill(scratch.results, scratch.sums, 0.0f);
    input_.Store(sheet, band, scratch.results, scratch.line);
  }

  // The output rows that the band reads, and to each channel's `bias`, if any, the sum of those that the bands before
  // did not read.
  void LoadOutput(const Sheet& sheet, int64_t depth, const Band& band, const Scratch& scratch, float* bias) const {
    const MetRows met = MetBy(band, s_.rows_);
    OutputPlanes::Rows rows{sheet.image, sheet.first_channel, sheet.channels, depth, met.first, met.end};
    float *const origin = scratch.output + s_.front_, *const line = scratch.line;
    const int64_t columns = s_.columns_.Existing(), row = s_.row_pitch_, plane = s_.plane_pitch_;
    float* const first = origin + (met.first - met.start) * row;
    if (s_.bands_ > 1) std::fill(origin, first, 0.0f);  // of other rows' places some are zeros now
    output_.Load(rows, columns, row, plane, line, first);
    float* const behind = origin + (met.end - met.start) * row;
    if (s_.bands_ > 1) std::fill(behind, std::max(behind, scratch.output + s_.output_floats_), 0.0f);
    if (bias == nullptr) return;
    rows.first = std::clamp(met.unread, met.first, met.end);
    for (int64_t i = 0; i < sheet.channels; ++i, ++rows.first_channel) {
      const float* laid = origin + i * plane + (rows.first - met.start) * row;
      bias[i] +=
          output_.rounds() ? output_.SumUnrounded(rows) : kernels::Lines().sum(laid, (rows.end - rows.first) * row);
    }
  }

  const char* PlaceInput(const Sheet& sheet, const Band& band, const Scratch& scratch) const {
    if (!weights_) return nullptr;
    if (direct_) return input_.Address(sheet);
    input_.Load(sheet, band, scratch.line, scratch.inputs);
    return reinterpret_cast<const char*>(scratch.inputs);
  }

  char* PlaceResult(const Sheet& sheet, const Scratch& scratch) const {
    if (!data_) return nullptr;
    return direct_ ? input_.ResultAddress(sheet) : reinterpret_cast<char*>(scratch.results);
  }

  // A sheet's first plane of the output, the input or its gradient.
  const char* PlaneOf(int tensor, const Sheet& sheet, int64_t slice) const {
    if (tensor == 1) return input_.Address(sheet);
    if (tensor == 2) return input_.ResultAddress(sheet);
    const int64_t last = sheet.slices.count - 1, depth = last < 0 ? 0 : sheet.slices.At(std::min(slice, last)).output;
    return output_.Address(sheet.image, sheet.first_channel, depth);
  }

  // Which tensor is asked for as the number `i`.
  int AskedFor(int i) const {
    const bool asked[] = {true, weights_, data_ && !streams_};
    return asked[i] ? i : 0;
  }

  // The share of the planes to come that pass `index` of a slice asks for: of the output's again where another tensor's
  // are not wanted, or written past the caches.
  void SetAhead(const Sheet& sheet, const Sheet& next, const Band& band, int64_t slice, int64_t index,
                kernels::JointCall* call) const {
    const int64_t passes = static_cast<int64_t>(s_.passes(kind_).size());
    for (int i = 0; i < 3; ++i) {
      const int of = AskedFor(i);
      const AheadSteps& steps = s_.ahead_[of];
      const int64_t share = of == 0 ? index : slice * passes + index;
      const int64_t offset = band.first * steps.row_bytes + share * band.rows * steps.pass_bytes;
      call->ahead[i] = {PlaneOf(of, sheet, slice) + offset, PlaneOf(of, next, slice) + offset, steps.step,
                        steps.plane_bytes};
    }
    call->distance = std::min(s_.distance_, sheet.channels);
  }

  // Every so many rows of a tensor's plane from the first on.
  template <class T>
  static kernels::JointRows<T> RowsInPlace(T* plane, const Operand& operand, int64_t first, int64_t step) {
    const int64_t bytes = numerics::ElementBytes(operand.dtype), row = operand.strides[3] * bytes;
    return {plane + first * row, operand.strides[1] * bytes, step * row};
  }
  // A pass's rows of the input's or its gradient's plane, in place or in sheets, a plane for each residue.
  template <class T>
  kernels::JointRows<T> RowsOf(bool in_place, T* plane, const Operand& operand, const sheets::Pass& pass,
                               const Band& band) const {
    if (!in_place) return RowsOfSheet(plane, pass);
    const int64_t stride = g_.stride[1];
    return RowsInPlace(plane, operand, band.first * stride + pass.row_residue, kind_ == Kind::kDoubled ? 1 : stride);
  }
  template <class T>
  kernels::JointRows<T> RowsOfSheet(T* sheet, const sheets::Pass& pass) const {
    constexpr int64_t kElements = static_cast<int64_t>(sizeof(float) / sizeof(T));
    return {sheet + (pass.row_residue * g_.stride[2] + pass.column_residue) * s_.input_floats_ * kElements,
            s_.plane_pitch_ * kElements, s_.row_pitch_ * kElements};
  }

  void AddPass(const sheets::Pass& pass, const sheets::Slice& slice, const Sheet& sheet, const Band& band,
               const char* x, char* result, const Scratch& scratch, int64_t channel, kernels::JointCall* call) const {
    const sheets::Residue& h = s_.rows_.residues[static_cast<size_t>(pass.row_residue)];
    const sheets::Residue& w = s_.columns_.residues[static_cast<size_t>(pass.column_residue)];
    const bool pairs = TakesPairs(kind_), doubled = kind_ == Kind::kDoubled;
    // The output's that position 0 meets first lies so many before its own.
    const int64_t first_row = doubled ? -s_.rows_.after : h.first + pass.row,
                  first_column = doubled ? -s_.columns_.after : w.first;
    const int64_t row = slice.kernel * g_.kernel[1] + (doubled ? 0 : h.kernel + pass.row * g_.stride[1]);
    const int64_t tap = row * g_.kernel[2] + (doubled ? 0 : w.kernel + pass.column * g_.stride[2]);
    if (FindsEdges(kind_)) {
      call->g = RowsInPlace(output_.Address(sheet.image, sheet.first_channel, slice.output), p_.output, band.first, 1);
      if (kind_ == Kind::kRolling || doubled) {
        call->g.first -= first_row * call->g.row + first_column * numerics::ElementBytes(p_.output.dtype);
      }
    } else {
      constexpr int64_t kBytes = sizeof(float);
      const int64_t above = s_.rows_.before - h.first - pass.row;
      const float* first = scratch.output + s_.front_ + above * s_.row_pitch_ - w.first - pass.column;
      call->g = {reinterpret_cast<const char*>(first), s_.plane_pitch_ * kBytes, s_.row_pitch_ * kBytes};
    }
    if (weights_) call->x = RowsOf(direct_, x, p_.input, pass, band);
    if (data_) {
      call->adds = !pass.first;
      char* to = InMemory(pass) ? result : reinterpret_cast<char*>(scratch.results);
      call->result = RowsOf(InMemory(pass), to, p_.input_result, pass, band);
      call->before = pass.first ? kernels::JointRows<const float>{} : RowsOfSheet<const float>(scratch.results, pass);
    }
    call->taps = packed_ + sheet.first_channel * g_.taps() + tap;
    call->taps_plane = g_.taps();
    call->taps_row = (doubled ? 1 : g_.stride[1]) * g_.kernel[2];
    call->taps_column = pairs ? 1 : g_.stride[2];
    call->sums = scratch.sums + (channel * g_.taps() + tap) * s_.lanes_;
    call->sums_plane = call->taps_plane * s_.lanes_;
    call->sums_row = call->taps_row * s_.lanes_;
    call->sums_column = call->taps_column * s_.lanes_;
    call->planes = sheet.channels;
    call->rows = std::min(band.rows, h.input - band.first);
    const int64_t columns = pairs ? g_.input_size[2] : w.input, floats = (pairs ? 2 : 1) * s_.lanes_;
    call->vectors = base::CeilDiv(columns, floats);
    // In sheets there are zeros behind a row, or what nobody reads.
    const int64_t last = FindsEdges(kind_) ? columns - (call->vectors - 1) * floats : columns % floats;
    call->last_lanes = direct_ ? static_cast<int>(last) : 0;
    call->room = scratch.inputs;  // nothing else is there
    SetEdges(band, s_.rows_, s_.columns_, first_row, first_column, call);
    if (call->rows > 0 && columns > 0) RunPass(pass, *call);
  }

  // Whether a pass writes its results where they stay, to be added to where they are not the last; else to a sheet.
  bool InMemory(const sheets::Pass& pass) const { return direct_ && (pass.last || kind_ != Kind::kPlain); }

  void RunPass(const sheets::Pass& pass, const kernels::JointCall& call) const {
    const int64_t g_bytes = FindsEdges(kind_) ? numerics::ElementBytes(p_.output.dtype) : sizeof(float);
    const int64_t x_bytes = direct_ ? numerics::ElementBytes(p_.input.dtype) : sizeof(float);
    const int64_t result_bytes = InMemory(pass) ? numerics::ElementBytes(p_.input_result.dtype) : sizeof(float);
    const int64_t floats = (TakesPairs(kind_) ? 2 : 1) * s_.lanes_;  // of the input and its gradient, for a vector
    const VectorSteps steps{s_.lanes_ * g_bytes, floats * x_bytes, floats * result_bytes, s_.lanes_};
    const int64_t most = kind_ == Kind::kRolling ? kMostRollingVectors : kMostTerms;
    const auto run = [&](kernels::JointResults what, const kernels::JointCall& part) {
      const kernels::JointKernels& kernels = what == kernels::kJointData ? *data_kernels_ : *kernels_;
      RunInParts(KernelOf(kernels, kind_, what, pass), part, steps, most);
    };
    const bool both = weights_ && data_ && KernelOf(*kernels_, kind_, kernels::kJointBoth, pass) != nullptr;
    if (both) return run(kernels::kJointBoth, call);
    kernels::JointCall first = call;
    if (data_) first.bias = nullptr;
    if (weights_) run(kernels::kJointWeights, first);
    if (data_) run(kernels::kJointData, call);
  }

  // Adds up the segments of a block of channels, in their order, and stores them.
  void Finish(int64_t block) const {
    const int64_t first = block * s_.channel_block_, channels = std::min(s_.channel_block_, g_.groups - first);
    const auto add_up = [&](int64_t count, int64_t next, float* sums) {
      for (int64_t segment = 1; segment < s_.segments_; ++segment) {
        const float* more = sums + segment * next;
        for (int64_t i = 0; i < count; ++i) sums[i] += more[i];
      }
    };
    if (weights_) {
      const int64_t taps = g_.taps(), count = channels * taps;
      float* sums = partial_ + first * taps;
      add_up(count, g_.groups * taps, sums);
      if (kernels::Lines().any_nonfinite(sums, count)) nonfinite_->store(1, std::memory_order_relaxed);
      sheets::StoreWeights(weight_result_, p_, first, channels, sums);
    }
    if (bias_) {
      float* sums = PartialBias(0) + first;
      add_up(channels, g_.groups, sums);
      sheets::StoreBiases(p_, b_, first, channels, sums);
    }
  }

  const JointStep& s_;
  const ConvProblem& p_;
  const Geometry& g_;
  const Buffers& b_;
  float *packed_, *partial_;
  plan::Shares scratch_;
  OutputPlanes output_;
  InputPlanes input_;
  LineReader weight_;
  LineWriter weight_result_;
  bool direct_;                                // the input and its gradient stay where they are
  Kind kind_;                                  // of kernels
  bool streams_;                               // the input's gradient is written past the caches
  const kernels::JointKernels* kernels_;       // for the form that these are then in
  const kernels::JointKernels* data_kernels_;  // likewise, for data alone
  bool data_, weights_, bias_;                 // what is wanted now
  std::atomic<int>* nonfinite_;
};

void JointStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                    void* workspace) const noexcept {
  JointRun(*this, sheets::DepthAsHeight(problem), buffers, workspace_.Fetch(ledger, workspace)).Run();
}

}  // namespace canopy::conv::joint_planes
