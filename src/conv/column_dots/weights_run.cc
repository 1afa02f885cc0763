// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "conv/column_dots/weights_step.h"
#include "conv/elements.h"
#include "conv/grid.h"
#include "conv/kernel_rows.h"
#include "conv/nonfinite.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"
#include "kernels/dots/contract.h"

namespace canopy::conv::column_dots {
namespace {

constexpr int64_t kTilesAhead = 2;  // whose output is asked for while one is multiplied

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch,
             float* partial, void* flag)
      : s_(step),
        p_(problem),
        b_(buffers),
        scratch_(scratch),
        partial_(partial),
        input_(b_.input, p_.input.dtype, p_.rule),
        output_(b_.output, p_.output.dtype, p_.rule),
        result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        nonfinite_(new (flag) std::atomic<int>(0)) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    if (!s_.zeros_) return RunJobs(serial);
    const auto take_finite = [this] {
      keep_bias_ = true;  // it is right already
      input_.TakeFiniteOnly();
      output_.TakeFiniteOnly();
    };
    RunPastNonfinite(
        p_, b_, serial, *nonfinite_, [&] { RunJobs(serial); }, take_finite);
  }

 private:
  // Channels of the tensor.
  struct Block {
    int64_t group, first, outputs;
  };

  // Pixels of a plane of one image.
  struct Piece {
    int64_t image, first, pixels;
  };

  void RunJobs(bool serial) const {
    const int64_t blocks = s_.jobs(p_.geometry.groups), segments = s_.segments_;
    exec::ParallelFor(blocks * segments, serial, [&](int64_t index, int worker) {
      Job(index / segments, index % segments, s_.ScratchAt(scratch_.Of(worker), nullptr));
    });
    exec::ParallelFor(blocks, serial, [&](int64_t block, int) { Finish(block); });
  }

  Block BlockAt(int64_t index) const {
    const int64_t group = index / s_.output_blocks_, first = index % s_.output_blocks_ * s_.output_block_;
    return {group, group * s_.outputs_ + first, std::min(s_.output_block_, s_.outputs_ - first)};
  }

  Piece PieceAt(int64_t index) const {
    return {s_.pieces_.image(index), s_.pieces_.first(index), s_.pieces_.size(index)};
  }

  int64_t OutputOffset(const Piece& piece, int64_t channel) const {
    return piece.image * p_.output.strides[0] + channel * p_.output.strides[1] + piece.first;
  }

  // [output channel][column], the bias gradient behind a channel's columns.
  float* Partial(int64_t block, int64_t segment) const {
    return partial_ + (block * s_.segments_ + segment) * s_.output_block_ * s_.results();
  }

  void Job(int64_t block_index, int64_t segment, const WeightsScratch& scratch) const {
    const Block block = BlockAt(block_index);
    const int64_t columns = s_.columns(), count = s_.pieces_.count();
    const int64_t begin = segment * count / s_.segments_, end = (segment + 1) * count / s_.segments_;
    std::memset(scratch.sums, 0, static_cast<size_t>(block.outputs * columns * s_.lanes_) * sizeof(float));
    if (s_.sums_) std::fill(scratch.biases, scratch.biases + block.outputs, 0.0f);
    for (int64_t index = begin; index < end; ++index) {
      const Piece piece = PieceAt(index), next = PieceAt(std::min(index + 1, end - 1));
      FillColumns(block, piece, scratch);
      for (int64_t row = 0; row < block.outputs; row += s_.rows_) {
        const int64_t rows = std::min(s_.rows_, block.outputs - row), later = row + kTilesAhead * s_.rows_;
        const bool last = later >= block.outputs;
        LookUp(block, piece, next, later + s_.rows_);
        AddRows(block, piece, row, rows, OutputOffset(last ? next : piece, block.first + later % block.outputs),
                scratch);
      }
    }
    float* to = Partial(block_index, segment);
    if (!s_.sums_) return kernels::Dots().reduce(scratch.sums, block.outputs * columns, to);
    for (int64_t row = 0; row < block.outputs; ++row, to += s_.results()) {
      kernels::Dots().reduce(scratch.sums + row * columns * s_.lanes_, columns, to);
      to[columns] = scratch.biases[row];
    }
  }

  // Requests for what lies in a page that the processor has not looked up are dropped, so each page is asked for early,
  // for the look-up's sake: here those of a tile of channels, counted on into the next piece.
  void LookUp(const Block& block, const Piece& piece, const Piece& next, int64_t row) const {
    for (int64_t r = row; r < row + s_.rows_; ++r) {
      const Piece& at = r < block.outputs ? piece : next;
      const int64_t first = OutputOffset(at, block.first + r % block.outputs);
      __builtin_prefetch(output_.Address(first));
      __builtin_prefetch(output_.Address(first + at.pixels - 1));
    }
  }

  // A line for each column, of whole vectors.
  void FillColumns(const Block& block, const Piece& piece, const WeightsScratch& scratch) const {
    const int64_t whole = base::RoundUp(piece.pixels, s_.lanes_), taps = p_.geometry.taps();
    float* line = scratch.columns;
    for (int64_t column = 0; column < s_.taps_; ++column, line += s_.line_floats_) {
      const PixelMap map = InputMap(p_, column % taps);
      const int64_t channel = block.group * s_.inputs_ + column / taps;
      const int64_t count =
          BuildSegments(map, piece.image * s_.pieces_.plane + piece.first, piece.pixels, scratch.segments);
      input_.Fetch(channel * p_.input.strides[1], scratch.segments, count, map.element_step(), piece.pixels, line);
      std::fill(line + piece.pixels, line + whole, 0.0f);
    }
    if (s_.columns() > s_.taps_) std::fill(line, line + whole, 1.0f);
  }

  // Adds what some output channels have at a piece's pixels. `later` is the channel's element that comes next.
  void AddRows(const Block& block, const Piece& piece, int64_t row, int64_t rows, int64_t later,
               const WeightsScratch& scratch) const {
    const int64_t offset = OutputOffset(piece, block.first + row), columns = s_.columns();
    const int64_t bytes = numerics::ElementBytes(p_.output.dtype);
    kernels::DotsCall call{};
    call.vectors = base::CeilDiv(piece.pixels, s_.lanes_);
    call.a = output_.Direct(offset, 1);
    call.a_row = p_.output.strides[1];
    if (call.a == nullptr || piece.pixels % s_.lanes_ != 0) {
      CopyRows(offset, rows, piece.pixels, scratch.rows);
      call.a = scratch.rows;
      call.a_row = s_.line_floats_;
    }
    if (s_.sums_) {
      for (int64_t r = 0; r < rows; ++r) {
        scratch.biases[row + r] += output_.Sum(offset + r * p_.output.strides[1], piece.pixels);
      }
    }
    call.sums_row = columns * s_.lanes_;
    call.far = true;
    int64_t offsets[kernels::kMostDotsColumns], asked = 0;  // channels
    const int64_t most = kernels::Dots().most_columns[rows], tiles = base::CeilDiv(columns, most);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t first = tile * columns / tiles, count = (tile + 1) * columns / tiles - first;
      for (int64_t c = 0; c < count; ++c) offsets[c] = c * s_.line_floats_;
      call.b = scratch.columns + first * s_.line_floats_;
      call.b_offsets = offsets;
      call.sums = scratch.sums + (row * columns + first) * s_.lanes_;
      for (int i = 0; i < 2; ++i, ++asked) {
        const bool more = asked < s_.rows_;
        call.ahead[i] = static_cast<const char*>(output_.Address(later + (more ? asked : 0) * p_.output.strides[1]));
        call.ahead_step[i] = more ? s_.lanes_ * bytes : 0;
      }
      kernels::Dots().dots[rows][count](call);
    }
  }

  // Whole vectors, zeros behind the pixels.
  void CopyRows(int64_t offset, int64_t rows, int64_t pixels, float* to) const {
    output_.CopyRows(offset, p_.output.strides[1], rows, pixels, to, s_.line_floats_);
    const int64_t whole = base::RoundUp(pixels, s_.lanes_);
    for (int64_t r = 0; r < rows; ++r, to += s_.line_floats_) std::fill(to + pixels, to + whole, 0.0f);
  }

  // Adds up the segments of a block, in their order, and stores them.
  void Finish(int64_t block_index) const {
    const Block block = BlockAt(block_index);
    const int64_t floats = block.outputs * s_.results();
    float* sums = Partial(block_index, 0);
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      const float* more = Partial(block_index, segment);
      for (int64_t i = 0; i < floats; ++i) sums[i] += more[i];
    }
    const float* from = sums;
    bool nonfinite = false;
    for (int64_t o = block.first; o < block.first + block.outputs; ++o) {
      nonfinite = nonfinite || kernels::Lines().any_nonfinite(from, s_.taps_);
      from = StoreKernels(result_, p_, o * p_.weight_result.strides[0], s_.inputs_, from);
      if (!s_.bias_) continue;
      if (!keep_bias_) StoreBias(p_, b_, o, *from);
      ++from;
    }
    if (nonfinite) nonfinite_->store(1, std::memory_order_relaxed);
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  plan::Shares scratch_;
  float* partial_;
  LineReader input_, output_;
  LineWriter result_;
  bool keep_bias_ = false;
  std::atomic<int>* nonfinite_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  WeightsRun(*this, problem, buffers, ledger.FetchEach(workspace, scratch_handle_),
             static_cast<float*>(ledger.Fetch(workspace, partial_handle_)), ledger.Fetch(workspace, flag_handle_))
      .Run();
}

}  // namespace canopy::conv::column_dots
