// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "conv/elements.h"
#include "conv/kernel_rows.h"
#include "conv/nonfinite.h"
#include "conv/packing/row_panels.h"
#include "conv/tap_rows/weights_step.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"
#include "kernels/ask.h"
#include "kernels/streams.h"

namespace canopy::conv::tap_rows {
namespace {

constexpr int64_t kStripsASum = 16;  // before a further level of sums is opened

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch,
             float* partial, void* flag)
      : s_(step),
        p_(problem),
        g_(problem.geometry),
        b_(buffers),
        scratch_(scratch),
        input_(b_.input, p_.input.dtype, p_.rule),
        output_(b_.output, p_.output.dtype, p_.rule),
        result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        partial_(partial),
        nonfinite_(new (flag) std::atomic<int>(0)) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    if (!s_.zeros_) return RunBlocks(serial);
    const auto take_finite = [this] {
      keep_bias_ = true;  // it is right already
      input_.TakeFiniteOnly();
      output_.TakeFiniteOnly();
    };
    RunPastNonfinite(
        p_, b_, serial, *nonfinite_, [&] { RunBlocks(serial); }, take_finite);
  }

 private:
  struct Block {
    int64_t first_output, outputs;  // channels of the tensor
    int64_t first_input, inputs;    // likewise
    int64_t group_input;            // first_input within its group
    int64_t columns;                // one more than taps where it has the bias
    int64_t multiplied;             // of those

    bool HasBias(int64_t taps) const { return columns > inputs * taps; }
  };

  // A part of a strip: one product's terms.
  struct Piece {
    int64_t first_row, first_column;  // in the strip
    int64_t rows, columns;
    int64_t offset;  // of the first pixel, in elements of output
  };

  WeightsScratch ScratchOf(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  void RunBlocks(bool serial) const {
    const int64_t blocks = s_.jobs(g_.groups), segments = s_.segments_;
    exec::ParallelFor(blocks * segments, serial,
                      [&](int64_t index, int worker) { Job(index / segments, index % segments, ScratchOf(worker)); });
    if (segments > 1)
      exec::ParallelFor(blocks, serial, [&](int64_t block, int worker) { AddSegments(block, ScratchOf(worker)); });
  }

  Block BlockAt(int64_t index) const {
    const int64_t input = index % s_.input_blocks_ * s_.input_block_;
    const int64_t output = index / s_.input_blocks_ % s_.output_blocks_ * s_.output_block_;
    const int64_t group = index / (s_.input_blocks_ * s_.output_blocks_);
    const int64_t inputs = std::min(s_.input_block_, s_.input_channels_ - input), taps = inputs * s_.taps_;
    const bool bias = s_.bias_ && input == 0;
    return {group * s_.output_channels_ + output,
            std::min(s_.output_block_, s_.output_channels_ - output),
            group * s_.input_channels_ + input,
            inputs,
            input,
            taps + (bias ? 1 : 0),
            taps + (bias && !s_.sums_ ? 1 : 0)};
  }

  void Job(int64_t block_index, int64_t segment, const WeightsScratch& scratch) const {
    const Block block = BlockAt(block_index);
    const int64_t floats = s_.tile_floats();
    float* totals = partial_ != nullptr ? partial_ + (block_index * s_.segments_ + segment) * floats : scratch.totals;
    const int64_t begin = segment * s_.segment_strips_;
    const int64_t end = std::min(s_.strips_.count(), begin + s_.segment_strips_);
    Clear(totals);
    Clear(scratch.tiles);
    s_.slab_.ListTaps(g_, block.inputs, scratch.tap_offsets);
    if (block.multiplied > block.inputs * s_.taps_) {
      const int64_t ones = block.inputs * s_.slab_.channel_floats();
      scratch.tap_offsets[block.columns - 1] = ones;
      std::fill(scratch.slab + ones, scratch.slab + ones + s_.slab_.plane_floats(), 1.0f);
    }
    for (int64_t i = 0; i < s_.piece_pixels(); ++i) scratch.pixel_offsets[i] = i * s_.lane_step_;
    for (int64_t i = 0; i < block.columns; ++i) scratch.result_offsets[i] = i * s_.lane_step_;
    for (int64_t index = begin; index < end; ++index) {
      AddStrip(block, index, end, scratch);
      if ((index - begin + 1) % kStripsASum != 0 && index + 1 < end) continue;
      kernels::Lines().add(scratch.tiles, floats, totals);
      Clear(scratch.tiles);
    }
    if (partial_ == nullptr) Store(block, totals, scratch.tiles);
  }

  void Clear(float* tiles) const { std::memset(tiles, 0, static_cast<size_t>(s_.tile_floats()) * sizeof(float)); }

  void AddStrip(const Block& block, int64_t index, int64_t end, const WeightsScratch& scratch) const {
    const packing::Strip strip = s_.strips_.At(index);
    s_.slab_.Fill(p_, input_, strip, block.first_input, block.inputs, scratch.line, scratch.slab);
    for (int64_t number = 0; number < PieceCount(strip); ++number) {
      // Requests for what lies in a page that the processor has not looked up are dropped, so each page is asked for
      // early, for the look-up's sake.
      const Piece later = PieceAhead(block, index, end, number + 2);
      const int64_t last = (later.rows - 1) * p_.output.strides[3] + later.columns - 1;
      for (int64_t c = 0; c < block.outputs && s_.transposes_; ++c) {
        kernels::Ask(output_.Address(later.offset + c * p_.output.strides[1] + last));
      }
      const Piece piece = PieceAt(block, strip, number);
      TransposePixels(block, piece, scratch);
      Multiply(block, piece, PieceAhead(block, index, end, number + 1), scratch);
    }
  }

  int64_t PieceCount(const packing::Strip& strip) const {
    return base::CeilDiv(strip.rows, s_.piece_rows_) * base::CeilDiv(strip.columns, s_.piece_columns_);
  }

  Piece PieceAt(const Block& block, const packing::Strip& strip, int64_t number) const {
    const auto& strides = p_.output.strides;
    const int64_t a_row = base::CeilDiv(strip.columns, s_.piece_columns_);
    Piece piece;
    piece.first_row = number / a_row * s_.piece_rows_;
    piece.first_column = number % a_row * s_.piece_columns_;
    piece.rows = std::min(s_.piece_rows_, strip.rows - piece.first_row);
    piece.columns = std::min(s_.piece_columns_, strip.columns - piece.first_column);
    piece.offset = strip.image * strides[0] + block.first_output * strides[1] + strip.depth * strides[2] +
                   (strip.row + piece.first_row) * strides[3] + (strip.column + piece.first_column) * strides[4];
    return piece;
  }

  // That of strip `index` or of those that follow it; of `end` there is none: one of the last again.
  Piece PieceAhead(const Block& block, int64_t index, int64_t end, int64_t number) const {
    for (;; ++index) {
      const packing::Strip strip = s_.strips_.At(index);
      const int64_t count = PieceCount(strip);
      if (number < count) return PieceAt(block, strip, number);
      if (index + 1 == end) return PieceAt(block, strip, count - 1);
      number -= count;
    }
  }

  void TransposePixels(const Block& block, const Piece& piece, const WeightsScratch& scratch) const {
    const auto& strides = p_.output.strides;
    if (block.multiplied < block.columns) AddBiases(block, piece, scratch.tiles + block.multiplied * s_.lane_step_);
    // Rows that follow one another in memory are one.
    const bool dense = strides[3] == piece.columns * strides[4];
    const int64_t rows = dense ? 1 : piece.rows, columns = dense ? piece.rows * piece.columns : piece.columns;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t offset = piece.offset + row * strides[3];
      if (!s_.transposes_) {
        float* const to = scratch.pixels + row * columns * s_.lane_step_;
        output_.CopyRows(offset, strides[4], columns, block.outputs, to, s_.lane_step_);
        continue;
      }
      const int64_t* at = scratch.pixel_offsets + row * columns;
      if (output_.Transpose(offset, strides[1], block.outputs, columns, scratch.pixels, at)) continue;
      output_.CopyRows(offset, strides[1], block.outputs, columns, scratch.rows, s_.piece_pixels());
      kernels::Lines().transpose(scratch.rows, s_.piece_pixels(), block.outputs, columns, scratch.pixels, at);
    }
  }

  void AddBiases(const Block& block, const Piece& piece, float* sums) const {
    const auto& strides = p_.output.strides;
    float of_row[kMostOutputs];
    for (int64_t row = 0; row < piece.rows && !s_.transposes_; ++row) {
      output_.SumColumns(piece.offset + row * strides[3], strides[4], piece.columns, block.outputs, of_row);
      for (int64_t c = 0; c < block.outputs; ++c) sums[c] += of_row[c];
    }
    if (!s_.transposes_) return;
    const bool dense = strides[3] == piece.columns;  // rows are one line
    const int64_t lines = dense ? 1 : piece.rows, length = dense ? piece.rows * piece.columns : piece.columns;
    for (int64_t c = 0; c < block.outputs; ++c) {
      sums[c] += output_.SumLines(piece.offset + c * strides[1], strides[3], lines, length);
    }
  }

  void Multiply(const Block& block, const Piece& piece, const Piece& next, const WeightsScratch& scratch) const {
    const int64_t bytes = numerics::ElementBytes(p_.output.dtype);
    kernels::GatherOperands operands{};
    operands.runs = scratch.runs;
    operands.run_count = piece.rows;
    for (int64_t row = 0; row < piece.rows; ++row) {
      scratch.runs[row] = {(piece.first_row + row) * s_.slab_.pitch() + piece.first_column,
                           row * piece.columns * s_.lane_step_, piece.columns};
    }
    operands.a = scratch.slab;
    operands.b_step = s_.lane_step_;
    // A request for each cache line of the next piece, channel by channel.
    operands.ahead_step = kernels::kMemoryLine;
    operands.ahead_terms = base::CeilDiv(next.rows * next.columns * bytes, kernels::kMemoryLine) + 1;
    operands.ahead_row = p_.output.strides[1] * bytes;
    const int64_t share = base::CeilDiv(piece.rows * piece.columns, operands.ahead_terms);
    operands.ahead_panel = share * operands.ahead_row;
    int64_t asked = s_.transposes_ ? 0 : block.outputs;  // channels: lines of neighbouring ones come as they are read
    const int64_t columns = block.multiplied, width = s_.panel_vectors_ * s_.tiles_.vector_lanes;
    for (int64_t lane = 0; lane < block.outputs; lane += width) {
      const int64_t vectors = base::CeilDiv(std::min(width, block.outputs - lane), s_.tiles_.vector_lanes);
      const kernels::GatherTiles& tiles = s_.tiles_.tiles[vectors - 1];
      operands.b = scratch.pixels + lane;
      operands.c = scratch.tiles + lane;
      const packing::RowPanels panels(columns, tiles.most_rows);
      for (int64_t p = 0; p < panels.count(); p += operands.panels) {
        const int64_t first = panels.first(p), count = panels.rows(p);
        const bool more = asked < block.outputs;
        operands.panels = panels.Alike(p);
        if (more) operands.panels = std::min(operands.panels, base::CeilDiv(block.outputs - asked, share));
        operands.offsets_panel = count;
        operands.row_offsets = scratch.tap_offsets + first;
        operands.result_offsets = scratch.result_offsets + first;
        operands.ahead = output_.Address(next.offset + asked * p_.output.strides[1]);
        (more ? tiles.scattered_ahead : tiles.scattered)[count](operands, true);
        asked += operands.panels * share;
      }
    }
  }

  // The fixed order of the sum over segments.
  void AddSegments(int64_t block_index, const WeightsScratch& scratch) const {
    const int64_t floats = s_.tile_floats();
    float* sum = partial_ + block_index * s_.segments_ * floats;
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      kernels::Lines().add(sum + segment * floats, floats, sum);
    }
    Store(BlockAt(block_index), sum, scratch.tiles);
  }

  // `line` holds a channel's columns.
  void Store(const Block& block, const float* totals, float* line) const {
    const auto& strides = p_.weight_result.strides;
    const int64_t columns = block.columns;
    bool nonfinite = false;
    for (int64_t o = 0; o < block.outputs; ++o) {
      for (int64_t i = 0; i < columns; ++i) line[i] = totals[i * s_.lane_step_ + o];
      nonfinite = nonfinite || kernels::Lines().any_nonfinite(line, columns);
      const int64_t offset = (block.first_output + o) * strides[0] + block.group_input * strides[1];
      const float* end = StoreKernels(result_, p_, offset, block.inputs, line);
      if (block.HasBias(s_.taps_) && !keep_bias_) StoreBias(p_, b_, block.first_output + o, *end);
    }
    if (nonfinite) nonfinite_->store(1, std::memory_order_relaxed);
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  const Geometry& g_;
  const Buffers& b_;
  plan::Shares scratch_;
  LineReader input_, output_;
  LineWriter result_;
  bool keep_bias_ = false;
  float* partial_;
  std::atomic<int>* nonfinite_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  float* partial = segments_ > 1 ? static_cast<float*>(ledger.Fetch(workspace, partial_handle_)) : nullptr;
  const ConvProblem served = WithFullStrips(problem);
  WeightsRun(*this, served, buffers, ledger.FetchEach(workspace, scratch_handle_), partial,
             ledger.Fetch(workspace, flag_handle_))
      .Run();
}

}  // namespace canopy::conv::tap_rows
