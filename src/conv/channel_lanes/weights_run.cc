// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/channel_lanes/weights_step.h"
#include "conv/packing/row_panels.h"
#include "conv/packing/store.h"
#include "exec/pool.h"

namespace canopy::conv::channel_lanes {
// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch,
             float* partial)
      : s_(step),
        p_(problem),
        scratch_(scratch),
        input_(buffers.input, p_.input.dtype, p_.rule),
        output_(buffers.output, p_.output.dtype, p_.rule),
        input_pairs_(buffers.input, p_.input.dtype, p_.rule),
        output_pairs_(buffers.output, p_.output.dtype, p_.rule),
        result_(buffers.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        partial_(partial),
        tiles_floats_(s_.tiles_floats(s_.cut_)) {}

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
    int64_t group, groups;    // the first, how many
    int64_t first_row, rows;  // channels of a group
    int64_t lanes;            // number of its lane block
  };

  struct BoxSlabs {
    packing::SlabShape rows, lanes;
  };

  WeightsScratch ScratchOf(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  Block BlockAt(int64_t index) const {
    const int64_t lane_blocks = s_.cut_.panels.blocks();
    Block block;
    block.lanes = index % lane_blocks;
    block.first_row = index / lane_blocks % s_.cut_.chunks * s_.cut_.chunk;
    block.rows = std::min(s_.cut_.chunk, s_.row_channels_ - block.first_row);
    block.group = index / (lane_blocks * s_.cut_.chunks) * s_.cut_.groups;
    block.groups = std::min(s_.cut_.groups, p_.geometry.groups - block.group);
    return block;
  }

  void Job(int64_t block_index, int64_t segment, const WeightsScratch& scratch) const {
    const Block block = BlockAt(block_index);
    float* sums =
        partial_ != nullptr ? partial_ + (block_index * s_.cut_.segments + segment) * tiles_floats_ : scratch.sums;
    const int64_t begin = segment * s_.cut_.segment_boxes;
    const int64_t end = std::min(s_.cut_.boxes.count(), begin + s_.cut_.segment_boxes);
    Clear(sums);
    const bool deep = s_.Deep(s_.cut_);
    float* tiles = deep ? scratch.tiles : sums;
    if (deep) Clear(tiles);
    for (int64_t index = begin; index < end; ++index) {
      AddBox(block, s_.cut_.boxes.At(index), tiles, scratch);
      if (deep && ((index - begin + 1) % WeightsStep::kBoxesASum == 0 || index + 1 == end)) {
        kernels::Lines().add(tiles, tiles_floats_, sums);
        if (index + 1 < end) Clear(tiles);
      }
    }
    if (partial_ == nullptr) Store(block, sums, scratch);
  }

  void Clear(float* tiles) const { std::memset(tiles, 0, static_cast<size_t>(tiles_floats_) * sizeof(float)); }

  void AddBox(const Block& block, const packing::Box& box, float* tiles, const WeightsScratch& scratch) const {
    const packing::LanePanels& panels = s_.cut_.panels;
    BoxSlabs slabs;
    packing::SlabShape &input = s_.turned_ ? slabs.lanes : slabs.rows, &output = s_.turned_ ? slabs.rows : slabs.lanes;
    input.first_image = output.first_image = box.first[0];
    input.images = output.images = box.count[0];
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t begin = box.first[axis + 1], count = box.count[axis + 1];
      output.axes[axis] = {begin, 1, count};
      input.axes[axis] = packing::SourceRange(s_.classes_[axis], s_.load_step_[axis], begin, begin + count);
    }
    input.phases = s_.stride_[2];
    slabs.rows.first_channel = block.group * s_.row_channels_ + block.first_row;
    slabs.rows.channels = block.groups * block.rows;
    slabs.rows.panel = s_.row_panel(s_.cut_);
    slabs.lanes.first_channel = block.group * s_.lane_channels_ + panels.first(block.lanes);
    slabs.lanes.channels = block.groups * panels.channels(block.lanes);
    slabs.lanes.panel = s_.lane_panel(s_.cut_);
    float* input_to = s_.turned_ ? scratch.lanes : scratch.rows;
    float* output_to = s_.turned_ ? scratch.rows : scratch.lanes;
    if (s_.dot_rate_ > 0) {
      packing::LoadImagePairs(input_pairs_, p_.input, p_.geometry.batch, input, scratch.lines, input_to);
      packing::LoadImagePairs(output_pairs_, p_.output, p_.geometry.batch, output, scratch.lines, output_to);
    } else {
      packing::LoadSlab(input_, p_.input, input, scratch.lines, input_to);
      packing::LoadSlab(output_, p_.output, output, scratch.lines, output_to);
    }
    FindTapRanges(box, input, scratch.ranges);
    for (int64_t panel = 0; panel < panels.panels(block.lanes); ++panel) {
      for (int64_t tap = 0; tap < s_.taps_; ++tap) MultiplyTap(block, box, slabs, panel, tap, tiles, scratch);
    }
  }

  // For each axis and kernel offset along it, once for all taps: divisions take longer than all else here.
  void FindTapRanges(const packing::Box& box, const packing::SlabShape& input, TapRange* ranges) const {
    const Geometry& g = p_.geometry;
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t begin = box.first[axis + 1], end = begin + box.count[axis + 1], stride = g.stride[axis];
      for (int64_t k = 0; k < g.kernel[axis]; ++k) {
        const int64_t shift = k * g.dilation[axis] - g.pad_begin[axis];
        TapRange range;
        range.low = shift + begin * stride >= 0 ? begin : base::CeilDiv(-shift, stride);
        range.high = shift + (end - 1) * stride < g.input_size[axis] ? end
                     : g.input_size[axis] <= shift                   ? 0
                                                   : base::CeilDiv(g.input_size[axis] - shift, stride);
        if (range.low < range.high) range.index = input.axes[axis].Index(range.low * stride + shift);
        *ranges++ = range;
      }
    }
  }

  void MultiplyTap(const Block& block, const packing::Box& box, const BoxSlabs& slabs, int64_t panel, int64_t tap,
                   float* sums, const WeightsScratch& scratch) const {
    const kernels::GatherTiles& tiles = s_.cut_.panels.tiles(block.lanes, panel);
    kernels::GatherOperands operands{};
    operands.run_count = ListRuns(box, slabs, tap, scratch);
    if (operands.run_count == 0) return;
    const int64_t row = s_.taps_ * s_.cut_.panels.block_lanes();
    const float* lanes = scratch.lanes + panel * slabs.lanes.PanelFloats();
    float* to = sums + tap * s_.cut_.panels.block_lanes() + panel * s_.cut_.panels.panel_lanes();
    operands.runs = scratch.runs;
    operands.a_step = slabs.rows.panel;
    operands.b_step = slabs.lanes.panel;
    operands.result_offsets = scratch.result_offsets;
    for (int64_t r = 0; r < tiles.most_rows; ++r) scratch.result_offsets[r] = r * row;
    const packing::RowPanels panels(block.rows, tiles.most_rows);
    for (int64_t i = 0; i < block.groups; ++i) {
      operands.b = lanes + i * s_.lane_channels_;
      for (int64_t p = 0; p < panels.count(); p += operands.panels) {
        const int64_t first = panels.first(p), rows = panels.rows(p);
        operands.panels = panels.Alike(p);
        operands.a_panel = rows;
        operands.c_panel = rows * row;
        operands.a = scratch.rows + i * s_.row_channels_ + first;
        operands.c = to + i * s_.group_floats(s_.cut_) + first * row;
        tiles.adjacent[rows](operands, true);
      }
    }
  }

  // The box's positions whose pixel under `tap` exists, in stretches.
  int64_t ListRuns(const packing::Box& box, const BoxSlabs& slabs, int64_t tap, const WeightsScratch& scratch) const {
    const packing::SlabShape &input = s_.turned_ ? slabs.lanes : slabs.rows,
                             &output = s_.turned_ ? slabs.rows : slabs.lanes;
    const Extent3& kernel = p_.geometry.kernel;
    const TapRange& depths = scratch.ranges[tap / (kernel[1] * kernel[2])];
    const TapRange& rows = scratch.ranges[kernel[0] + tap / kernel[2] % kernel[1]];
    const TapRange& columns = scratch.ranges[kernel[0] + kernel[1] + tap % kernel[2]];
    if (depths.low >= depths.high || rows.low >= rows.high || columns.low >= columns.high) return 0;
    const int64_t a_step = slabs.rows.panel, b_step = slabs.lanes.panel;
    const int64_t terms = (columns.high - columns.low) * box.count[0];
    const int64_t first = input.Pixel(0, 0, columns.index), input_row = input.Pixel(0, 1, 0);
    const int64_t input_depth = input.Pixel(1, 0, 0);
    kernels::GatherRun* runs = scratch.runs;
    int64_t listed = 0;
    for (int64_t d = depths.low; d < depths.high; ++d) {
      for (int64_t h = rows.low; h < rows.high; ++h) {
        const int64_t from = first + (depths.index + (d - depths.low) * s_.stride_[0]) * input_depth +
                             (rows.index + (h - rows.low) * s_.stride_[1]) * input_row;
        const int64_t to = output.Pixel(d - box.first[1], h - box.first[2], columns.low - box.first[3]);
        const int64_t a = (s_.turned_ ? to : from) * a_step, b = (s_.turned_ ? from : to) * b_step;
        kernels::GatherRun* last = runs + listed - 1;
        if (listed > 0 && last->a + last->terms * a_step == a && last->b + last->terms * b_step == b) {
          last->terms += terms;
        } else {
          runs[listed++] = {a, b, terms};
        }
      }
    }
    return listed;
  }

  // The fixed order of the sum over segments.
  void Reduce(int64_t block_index, const WeightsScratch& scratch) const {
    float* sum = partial_ + block_index * s_.cut_.segments * tiles_floats_;
    for (int64_t segment = 1; segment < s_.cut_.segments; ++segment) {
      kernels::Lines().add(sum + segment * tiles_floats_, tiles_floats_, sum);
    }
    Store(BlockAt(block_index), sum, scratch);
  }

  void Store(const Block& block, const float* sums, const WeightsScratch& scratch) const {
    for (int64_t i = 0; i < block.groups; ++i) {
      StoreGroup(block, block.group + i, sums + i * s_.group_floats(s_.cut_), scratch);
    }
  }

  void StoreGroup(const Block& block, int64_t group, const float* tiles, const WeightsScratch& scratch) const {
    const auto& strides = p_.weight_result.strides;
    const Extent3& kernel = p_.geometry.kernel;
    const int64_t row_stride = strides[s_.turned_ ? 0 : 1], lane_stride = strides[s_.turned_ ? 1 : 0];
    const int64_t lanes = s_.cut_.panels.block_lanes(), channels = s_.cut_.panels.channels(block.lanes);
    const int64_t offset = group * p_.geometry.group_output_channels() * strides[0] +
                           s_.cut_.panels.first(block.lanes) * lane_stride + block.first_row * row_stride;
    if (strides[4] == 1 && strides[3] == kernel[2] && strides[2] == kernel[1] * kernel[2] && s_.taps_ > 1) {
      // Taps are one line, with the row channels where these are next.
      const int64_t rows = row_stride == s_.taps_ ? block.rows : 1;
      for (int64_t r = 0; r < block.rows; r += rows) {
        packing::StoreLines(result_, offset + r * row_stride, {channels, rows * s_.taps_, lanes, lane_stride, 1},
                            scratch.lines, tiles + r * s_.taps_ * lanes);
      }
      return;
    }
    for (int64_t tap = 0; tap < s_.taps_; ++tap) {
      const int64_t at = offset + tap / (kernel[1] * kernel[2]) * strides[2] +
                         tap / kernel[2] % kernel[1] * strides[3] + tap % kernel[2] * strides[4];
      packing::StoreLines(result_, at, {channels, block.rows, s_.taps_ * lanes, lane_stride, row_stride}, scratch.lines,
                          tiles + tap * lanes);
    }
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  plan::Shares scratch_;
  LineReader input_, output_;
  PairReader input_pairs_, output_pairs_;  // with dot products
  LineWriter result_;
  float* partial_;
  int64_t tiles_floats_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  float* partial = cut_.segments > 1 ? static_cast<float*>(ledger.Fetch(workspace, partial_handle_)) : nullptr;
  WeightsRun(*this, problem, buffers, ledger.FetchEach(workspace, scratch_handle_), partial).Run();
}

}  // namespace canopy::conv::channel_lanes
