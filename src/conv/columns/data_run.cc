// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checked_math.h"
#include "conv/columns/data_step.h"
#include "conv/packing/asks.h"
#include "conv/pair_reader.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"
#include "kernels/streams.h"

namespace canopy::conv::columns {

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, float* packed, plan::Shares scratch)
      : s_(step),
        p_(problem),
        packed_(packed),
        scratch_(scratch),
        plane_(p_.geometry.output_size[0] * p_.geometry.output_size[1] * p_.geometry.output_size[2]),
        output_(buffers.output, p_.output.dtype, p_.rule),
        weight_(buffers.weight, p_.weight.dtype, p_.rule),
        output_pairs_(buffers.output, p_.output.dtype, p_.rule),
        weight_pairs_(buffers.weight, p_.weight.dtype, p_.rule),
        result_(buffers.input_result, p_.input_result.dtype, p_.rule.saturate) {}

  void Run() const {
    const bool serial = s_.work_ < kSerialWork;
    const int64_t blocks = p_.geometry.groups * s_.blocks_, pieces = s_.pieces_.count();
    exec::ParallelFor(blocks, serial, [&](int64_t block, int worker) { PackBlock(block, ScratchOf(worker)); });
    exec::ParallelFor(blocks * pieces, serial, [&](int64_t index, int worker) {
      Job(index / pieces, s_.pieces_.At(index % pieces), ScratchOf(worker));
    });
  }

 private:
  struct Panel {
    int64_t first, count;  // pixels of the output's plane
    float* products;
  };

  DataScratch ScratchOf(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  int64_t FirstInput(int64_t block) const { return block % s_.blocks_ * s_.block_; }
  int64_t Inputs(int64_t block) const { return std::min(s_.block_, s_.input_channels_ - FirstInput(block)); }
  int64_t FirstOutput(int64_t block) const { return block / s_.blocks_ * s_.output_channels_; }

  // packed[block][chunk][row panel][term][row]; a block's columns are dealt evenly to its panels.
  void PackBlock(int64_t block, const DataScratch& scratch) const {
    const int64_t columns = Inputs(block) * s_.taps_, panels = s_.row_panels(columns), rows = s_.rows();
    for (int64_t k = 0; k < s_.output_channels_; k += s_.a_term()) {
      const int64_t chunk = k - k % s_.chunk_, outputs = std::min(s_.chunk_, s_.output_channels_ - chunk);
      const int64_t offset = (FirstOutput(block) + k) * p_.weight.strides[0] + FirstInput(block) * s_.taps_;
      if (s_.dot_rate_ > 0) {
        weight_pairs_.FetchLine(offset, p_.weight.strides[0], k + 1 == s_.output_channels_, 1, columns,
                                scratch.products);
      } else {
        weight_.FetchRun(offset, columns, scratch.products);
      }
      float* to = packed_ + block * s_.PackedFloats() + (s_.Terms(chunk) * panels + s_.Terms(k - chunk)) * rows;
      for (int64_t panel = 0; panel < panels; ++panel, to += s_.Terms(outputs) * rows) {
        const int64_t first = panel * columns / panels, end = (panel + 1) * columns / panels;
        std::copy(scratch.products + first, scratch.products + end, to);
      }
    }
  }

  void Job(int64_t block, const Piece& piece, const DataScratch& scratch) const {
    std::memset(scratch.sums, 0, static_cast<size_t>(s_.SumFloats()) * sizeof(float));
    if (!piece.empty()) {
      for (int64_t k = 0; k < s_.output_channels_; k += s_.chunk_) MultiplyChunk(block, piece, k, scratch);
    }
    Store(block, piece, scratch);
  }

  template <class F>
  void ForEachPanel(const Piece& piece, const DataScratch& scratch, const F& visit) const {
    float* products = scratch.products;
    s_.pieces_.ForEachRun(piece, [&](int64_t begin, int64_t pixels) {
      for (int64_t i = 0; i < pixels; i += s_.panel_) {
        visit(Panel{begin + i, std::min(s_.panel_, pixels - i), products});
        if (s_.chunked()) products += s_.columns() * s_.panel_;
      }
    });
  }

  // Adds the terms of output channels from `k`; with the last of them the products go to the sums.
  void MultiplyChunk(int64_t block, const Piece& piece, int64_t k, const DataScratch& scratch) const {
    const int64_t outputs = std::min(s_.chunk_, s_.output_channels_ - k);
    const int64_t offset = piece.image * p_.output.strides[0] + (FirstOutput(block) + k) * p_.output.strides[1];
    int64_t listed_row = -1;
    ForEachPanel(piece, scratch, [&](const Panel& panel) {
      Multiply(block, panel, k, outputs, offset + panel.first * p_.output.strides[4], scratch);
      if (k + outputs == s_.output_channels_) AddProducts(block, piece, panel, &listed_row, scratch);
    });
  }

  void Multiply(int64_t block, const Panel& panel, int64_t k, int64_t outputs, int64_t offset,
                const DataScratch& scratch) const {
    const int64_t rows = s_.rows(), columns = Inputs(block) * s_.taps_, panels = s_.row_panels(columns);
    const kernels::GatherRun run{0, 0, s_.Terms(outputs)};
    kernels::GatherOperands operands{};
    operands.runs = &run;
    operands.run_count = 1;
    operands.a = packed_ + block * s_.PackedFloats() + s_.Terms(k) * panels * rows;
    operands.a_step = rows;
    operands.result_offsets = scratch.result_offsets;
    for (int64_t r = 0; r < rows; ++r) scratch.result_offsets[r] = r * s_.panel_;
    // Pixels stay where they are for the first row panel, which copies them for the others.
    const bool whole = panel.count % s_.tiles_.vector_lanes == 0 && !s_.transposes_;
    const float* direct = whole ? output_.Direct(offset, 1) : nullptr;
    if (direct == nullptr) PackPixels(offset, panel.count, outputs, scratch);
    operands.b_copy_step = s_.panel_;
    // Meanwhile the next panel. The line that holds its first pixels has come with this one where they were packed.
    const int64_t bytes = numerics::ElementBytes(p_.output.dtype);
    const packing::Asks asks(outputs, panels, packing::AskTimes(run.terms));
    operands.ahead_line = s_.tiles_.vector_lanes * bytes;
    const int64_t ahead = s_.panel_ + (direct != nullptr ? 0 : kernels::kMemoryLine / bytes);
    for (int64_t number = 0; number < panels; ++number, operands.a += run.terms * rows) {
      const int64_t first = number * columns / panels, count = (number + 1) * columns / panels - first;
      const bool in_place = direct != nullptr && number == 0, copying = in_place && panels > 1;
      operands.b_step = in_place ? p_.output.strides[1] : s_.panel_;
      for (int64_t i = 0; i < panel.count; i += s_.lanes()) {
        const int64_t vectors = base::CeilDiv(std::min(s_.lanes(), panel.count - i), s_.tiles_.vector_lanes);
        operands.b = (in_place ? direct : scratch.pixels) + i;
        operands.b_copy = scratch.pixels + i;
        asks.Assign(number, output_.Address(offset + ahead + i), p_.output.strides[1] * bytes, &operands);
        if (s_.transposes_ || panel.first + ahead + i >= plane_) operands.asks = 0;
        operands.c = panel.products + first * s_.panel_ + i;
        const kernels::GatherTiles& tiles = s_.tiles_.tiles[vectors - 1];
        (copying ? tiles.adjacent_copying : tiles.adjacent)[count](operands, k > 0);
      }
    }
  }

  void PackPixels(int64_t offset, int64_t count, int64_t outputs, const DataScratch& scratch) const {
    const int64_t stride = p_.output.strides[1];
    if (s_.transposes_) {
      for (int64_t k = 0; k < outputs; ++k) scratch.pixel_offsets[k] = k * s_.panel_;
      output_.Transpose(offset, p_.output.strides[4], count, outputs, scratch.pixels, scratch.pixel_offsets);
    } else if (s_.dot_rate_ > 0) {
      output_pairs_.ZipRows(offset, stride, outputs, count, scratch.pixels, s_.panel_);
    } else {
      output_.CopyRows(offset, stride, outputs, count, scratch.pixels, s_.panel_);
    }
  }

  void AddProducts(int64_t block, const Piece& piece, const Panel& panel, int64_t* listed_row,
                   const DataScratch& scratch) const {
    const int64_t width = p_.geometry.output_size[2];
    for (int64_t i = 0; i < panel.count;) {
      const int64_t row = (panel.first + i) / width, w = (panel.first + i) % width;
      const int64_t count = std::min(panel.count - i, width - w);
      if (row != *listed_row) ListSums(Inputs(block), piece, row, scratch.sum_offsets);
      *listed_row = row;
      AddRow(Inputs(block), panel.products + i, count, scratch.sums + w - piece.origin[2], scratch.sum_offsets);
      i += count;
    }
  }

  // The products of `count` pixels of a row. Kernel columns whose products go to the same phase overlap there.
  void AddRow(int64_t inputs, const float* products, int64_t count, float* sums, const int64_t* offsets) const {
    const Geometry& g = p_.geometry;
    const int64_t columns = g.kernel[2], common = std::gcd(g.stride[2], g.dilation[2]);
    const int64_t phases = std::min(columns, g.stride[2] / common);
    kernels::ShiftedRows rows{};
    rows.rows = inputs * g.kernel[0] * g.kernel[1];
    rows.row_step = columns * s_.panel_;
    rows.tap_step = phases * s_.panel_;
    rows.shift = g.dilation[2] / common;
    rows.count = count;
    for (int64_t first = 0; first < phases; ++first) {
      rows.taps = base::CeilDiv(columns - first, phases);
      const int64_t w = first * g.dilation[2];
      kernels::Lines().add_shifted(products + first * s_.panel_, rows,
                                   sums + w % g.stride[2] * s_.phase_floats_ + w / g.stride[2], offsets);
    }
  }

  // Where the products of each kernel row go, counted from the last axis' origin, for a row of output pixels.
  void ListSums(int64_t inputs, const Piece& piece, int64_t row, int64_t* offsets) const {
    const Geometry& g = p_.geometry;
    const Extent3 size = piece.size();
    const int64_t first_d = row / g.output_size[1] * g.stride[0] - g.pad_begin[0] - piece.low[0];
    const int64_t first_h = row % g.output_size[1] * g.stride[1] - g.pad_begin[1] - piece.low[1];
    const int64_t depths = s_.pieces_.reached_rows(0), rows = s_.pieces_.reached_rows(1);
    const int64_t outside = s_.block_ * depths * rows + 1;
    for (int64_t c = 0; c < inputs; ++c) {
      for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
        const int64_t d = first_d + kd * g.dilation[0];
        for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
          const int64_t h = first_h + kh * g.dilation[1];
          const bool inside = d >= 0 && d < size[0] && h >= 0 && h < size[1];
          const int64_t at =
              inside ? (c * depths + s_.pieces_.ReachedRow(0, d)) * rows + s_.pieces_.ReachedRow(1, h) : outside;
          *offsets++ = at * s_.row_floats_;
        }
      }
    }
  }

  void Store(int64_t block, const Piece& piece, const DataScratch& scratch) const {
    const Geometry& g = p_.geometry;
    const auto& strides = p_.input_result.strides;
    const Extent3 size = piece.size();
    const int64_t first_channel = block / s_.blocks_ * s_.input_channels_ + FirstInput(block);
    const int64_t skipped = piece.low[2] + g.pad_begin[2] - piece.origin[2] * g.stride[2];  // before the piece
    const int64_t depths = s_.pieces_.reached_rows(0), rows = s_.pieces_.reached_rows(1);
    for (int64_t c = 0; c < Inputs(block); ++c) {
      for (int64_t d = 0; d < size[0]; ++d) {
        const int64_t depth = s_.pieces_.ReachedRow(0, d);
        for (int64_t h = 0; h < size[1]; ++h) {
          const int64_t number = s_.pieces_.ReachedRow(1, h);
          const int64_t at = depth < 0 || number < 0 ? s_.block_ * depths * rows : (c * depths + depth) * rows + number;
          const float* row = scratch.sums + at * s_.row_floats_;
          result_.StorePhases(piece.image * strides[0] + (first_channel + c) * strides[1] +
                                  (piece.low[0] + d) * strides[2] + (piece.low[1] + h) * strides[3] +
                                  piece.low[2] * strides[4],
                              strides[4], row, s_.phase_floats_, g.stride[2], skipped, size[2], scratch.line);
        }
      }
    }
  }

  const DataStep& s_;
  const ConvProblem& p_;
  float* packed_;
  plan::Shares scratch_;
  int64_t plane_;  // output pixels of a channel
  LineReader output_, weight_;
  PairReader output_pairs_, weight_pairs_;  // with dot products
  LineWriter result_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  DataRun(*this, problem, buffers, static_cast<float*>(ledger.Fetch(workspace, packed_handle_)),
          ledger.FetchEach(workspace, scratch_handle_))
      .Run();
}

}  // namespace canopy::conv::columns
