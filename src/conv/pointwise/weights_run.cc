// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/channel_lanes/store.h"
#include "conv/pointwise/weights_step.h"
#include "exec/pool.h"

namespace canopy::conv::pointwise {
namespace {

constexpr int64_t kPiecesASum = 32;  // pieces whose sums are added up before a further level is opened

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, char* scratch, float* partial)
      : s_(step),
        p_(problem),
        lanes_operand_(s_.strided_ ? p_.input : Flat(s_.cut_.outputs_are_lanes ? p_.output : p_.input)),
        rows_operand_(Flat(s_.cut_.outputs_are_lanes ? p_.input : p_.output)),
        scratch_(scratch),
        lanes_(s_.cut_.outputs_are_lanes ? buffers.output : buffers.input, lanes_operand_.dtype, p_.rule),
        rows_(s_.cut_.outputs_are_lanes ? buffers.input : buffers.output, rows_operand_.dtype, p_.rule),
        result_(buffers.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        partial_(partial) {}

  void Run() const {
    const bool serial = s_.cut_.work < kSerialWork;
    const int64_t blocks = s_.cut_.jobs(p_.geometry.groups), segments = s_.cut_.segments;
    exec::ParallelFor(blocks * segments, serial,
                      [&](int64_t index, int worker) { Job(index / segments, index % segments, ScratchOf(worker)); });
    if (segments > 1) {
      exec::ParallelFor(blocks, serial, [&](int64_t block, int worker) { Reduce(block, ScratchOf(worker)); });
    }
  }

 private:
  struct Block {
    int64_t group, first_row, rows;  // channels of the group
    int64_t lanes;                   // number of its lane block
  };

  WeightsScratch ScratchOf(int worker) const { return s_.ScratchAt(scratch_ + worker * s_.scratch_bytes_, nullptr); }

  Block BlockAt(int64_t index) const {
    const int64_t lane_blocks = s_.cut_.panels.blocks();
    Block block;
    block.lanes = index % lane_blocks;
    block.first_row = index / lane_blocks % s_.cut_.blocks * s_.cut_.block;
    block.rows = std::min(s_.cut_.block, s_.cut_.row_channels - block.first_row);
    block.group = index / (lane_blocks * s_.cut_.blocks);
    return block;
  }

  void Job(int64_t block_index, int64_t segment, const WeightsScratch& scratch) const {
    const Block block = BlockAt(block_index);
    const int64_t floats = s_.cut_.tiles_floats();
    float* sums = partial_ != nullptr ? partial_ + (block_index * s_.cut_.segments + segment) * floats : scratch.deep;
    const int64_t begin = segment * s_.cut_.segment_pieces;
    const int64_t end = std::min(s_.pieces_.count(), begin + s_.cut_.segment_pieces);
    Clear(sums);
    Clear(scratch.tiles);
    for (int64_t index = begin; index < end; ++index) {
      AddPiece(block, index, scratch);
      if ((index - begin + 1) % kPiecesASum == 0 || index + 1 == end) {
        kernels::Lines().add(scratch.tiles, floats, sums);
        if (index + 1 < end) Clear(scratch.tiles);
      }
    }
    if (partial_ == nullptr) Store(block, sums, scratch);
  }

  void Clear(float* tiles) const { std::memset(tiles, 0, static_cast<size_t>(s_.cut_.tiles_floats()) * sizeof(float)); }

  void AddPiece(const Block& block, int64_t piece, const WeightsScratch& scratch) const {
    const channel_lanes::LanePanels& panels = s_.cut_.panels;
    const int64_t pixels = s_.pieces_.size(piece);
    channel_lanes::SlabShape slab;
    slab.first_image = s_.pieces_.image(piece);
    slab.images = 1;
    slab.axes = {channel_lanes::AxisRange{0, 1, 1}, {0, 1, 1}, {s_.pieces_.first(piece), 1, pixels}};
    if (s_.strided_) {
      const Geometry& g = p_.geometry;
      const int64_t width = g.output_size[2];
      slab.axes[1] = {s_.pieces_.first(piece) / width * g.stride[1], g.stride[1], pixels / width};
      slab.axes[2] = {0, g.stride[2], width};
    }
    slab.first_channel = block.group * LaneChannels() + panels.first(block.lanes);
    slab.channels = panels.channels(block.lanes);
    slab.panel = panels.panel_lanes();
    channel_lanes::LoadSlab(lanes_, lanes_operand_, slab, scratch.lines, scratch.lanes);
    int64_t row_stride = rows_operand_.strides[1];
    const float* rows = Rows(block, piece, scratch, &row_stride);
    for (int64_t panel = 0; panel < panels.panels(block.lanes); ++panel) {
      const kernels::GatherTiles& tiles = panels.tiles(block.lanes, panel);
      const kernels::GatherRun run{0, 0, pixels};
      for (int r = 0; r < tiles.most_rows; ++r) {
        scratch.row_offsets[r] = r * row_stride;
        scratch.result_offsets[r] = r * panels.block_lanes();
      }
      kernels::GatherOperands operands{&run,
                                       1,
                                       nullptr,
                                       scratch.row_offsets,
                                       0,
                                       scratch.lanes + panel * slab.PanelFloats(),
                                       slab.panel,
                                       nullptr,
                                       scratch.result_offsets};
      const int64_t calls = base::CeilDiv(block.rows, tiles.most_rows);
      for (int64_t call = 0; call < calls; ++call) {
        const int64_t first = call * block.rows / calls, count = (call + 1) * block.rows / calls - first;
        operands.a = rows + first * row_stride;
        operands.c = scratch.tiles + first * panels.block_lanes() + panel * slab.panel;
        tiles.scattered[count](operands, true);
      }
    }
  }

  int64_t LaneChannels() const { return s_.cut_.outputs_are_lanes ? s_.output_channels_ : s_.input_channels_; }

  // The block's rows at the piece's first pixel, in place or converted.
  const float* Rows(const Block& block, int64_t piece, const WeightsScratch& scratch, int64_t* row_stride) const {
    const int64_t offset = s_.pieces_.image(piece) * rows_operand_.strides[0] +
                           (block.group * s_.cut_.row_channels + block.first_row) * rows_operand_.strides[1] +
                           s_.pieces_.first(piece);
    const float* in_place = rows_.Direct(offset, 1);
    if (in_place != nullptr) return in_place;
    for (int64_t r = 0; r < block.rows; ++r) {
      rows_.FetchRun(offset + r * *row_stride, s_.pieces_.size(piece), scratch.rows + r * s_.pieces_.pixels);
    }
    *row_stride = s_.pieces_.pixels;
    return scratch.rows;
  }

  // The fixed order of the sum over segments.
  void Reduce(int64_t block_index, const WeightsScratch& scratch) const {
    const int64_t floats = s_.cut_.tiles_floats();
    float* sum = partial_ + block_index * s_.cut_.segments * floats;
    for (int64_t segment = 1; segment < s_.cut_.segments; ++segment) {
      kernels::Lines().add(sum + segment * floats, floats, sum);
    }
    Store(BlockAt(block_index), sum, scratch);
  }

  void Store(const Block& block, const float* tiles, const WeightsScratch& scratch) const {
    const auto& strides = p_.weight_result.strides;
    const bool outputs = s_.cut_.outputs_are_lanes;
    const int64_t lane_stride = strides[outputs ? 0 : 1], row_stride = strides[outputs ? 1 : 0];
    const int64_t offset = block.group * s_.output_channels_ * strides[0] +
                           s_.cut_.panels.first(block.lanes) * lane_stride + block.first_row * row_stride;
    channel_lanes::StoreLines(
        result_, offset,
        {s_.cut_.panels.channels(block.lanes), block.rows, s_.cut_.panels.block_lanes(), lane_stride, row_stride},
        scratch.lines, tiles);
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  Operand lanes_operand_, rows_operand_;
  char* scratch_;
  LineReader lanes_, rows_;
  LineWriter result_;
  float* partial_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  float* partial = cut_.segments > 1 ? static_cast<float*>(ledger.Fetch(workspace, partial_handle_)) : nullptr;
  WeightsRun(*this, problem, buffers, static_cast<char*>(ledger.Fetch(workspace, scratch_handle_)), partial).Run();
}

}  // namespace canopy::conv::pointwise
