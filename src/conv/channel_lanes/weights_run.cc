// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/channel_lanes/weights_step.h"
#include "conv/packing/store.h"
#include "exec/pool.h"

namespace canopy::conv::channel_lanes {
// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, char* scratch, float* partial)
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
    int64_t group, first_input, inputs;  // channels of the group
    int64_t lanes;                       // number of its lane block
  };

  WeightsScratch ScratchOf(int worker) const { return s_.ScratchAt(scratch_ + worker * s_.scratch_bytes_, nullptr); }

  Block BlockAt(int64_t index) const {
    const int64_t lane_blocks = s_.cut_.panels.blocks();
    Block block;
    block.lanes = index % lane_blocks;
    block.first_input = index / lane_blocks % s_.cut_.chunks * s_.cut_.chunk;
    block.inputs = std::min(s_.cut_.chunk, s_.input_channels_ - block.first_input);
    block.group = index / (lane_blocks * s_.cut_.chunks);
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
    packing::SlabShape input, output;
    input.first_image = output.first_image = box.first[0];
    input.images = output.images = box.count[0];
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t begin = box.first[axis + 1], count = box.count[axis + 1];
      output.axes[axis] = {begin, 1, count};
      input.axes[axis] = packing::SourceRange(s_.classes_[axis], s_.load_step_[axis], begin, begin + count);
    }
    input.first_channel = block.group * s_.input_channels_ + block.first_input;
    input.channels = block.inputs;
    input.panel = s_.cut_.chunk;
    input.phases = s_.stride_[2];
    output.first_channel = block.group * s_.output_channels_ + panels.first(block.lanes);
    output.channels = panels.channels(block.lanes);
    output.panel = panels.panel_lanes();
    if (s_.dot_rate_ > 0) {
      packing::LoadImagePairs(input_pairs_, p_.input, p_.geometry.batch, input, scratch.lines, scratch.input);
      packing::LoadImagePairs(output_pairs_, p_.output, p_.geometry.batch, output, scratch.lines, scratch.output);
    } else {
      packing::LoadSlab(input_, p_.input, input, scratch.lines, scratch.input);
      packing::LoadSlab(output_, p_.output, output, scratch.lines, scratch.output);
    }
    for (int64_t panel = 0; panel < panels.panels(block.lanes); ++panel) {
      for (int64_t tap = 0; tap < s_.taps_; ++tap) MultiplyTap(block, box, input, output, panel, tap, tiles, scratch);
    }
  }

  void MultiplyTap(const Block& block, const packing::Box& box, const packing::SlabShape& input,
                   const packing::SlabShape& output, int64_t panel, int64_t tap, float* sums,
                   const WeightsScratch& scratch) const {
    const kernels::GatherTiles& tiles = s_.cut_.panels.tiles(block.lanes, panel);
    kernels::GatherOperands operands{};
    operands.run_count = ListRuns(box, input, output, tap, scratch.runs, &operands.a_step);
    if (operands.run_count == 0) return;
    const int64_t row = s_.taps_ * s_.cut_.panels.block_lanes();
    operands.runs = scratch.runs;
    operands.b = scratch.output + panel * output.PanelFloats();
    operands.b_step = output.panel;
    operands.result_offsets = scratch.result_offsets;
    for (int64_t r = 0; r < tiles.most_rows; ++r) scratch.result_offsets[r] = r * row;
    const int64_t calls = base::CeilDiv(block.inputs, tiles.most_rows);
    for (int64_t call = 0; call < calls; ++call) {
      const int64_t first = call * block.inputs / calls, rows = (call + 1) * block.inputs / calls - first;
      operands.a = scratch.input + first;
      operands.c = sums + first * row + tap * s_.cut_.panels.block_lanes() + panel * output.panel;
      tiles.adjacent[rows](operands, true);
    }
  }

  // The box's positions whose pixel under `tap` exists, in stretches; *a_step is the distance of their pixels.
  int64_t ListRuns(const packing::Box& box, const packing::SlabShape& input, const packing::SlabShape& output,
                   int64_t tap, kernels::GatherRun* runs, int64_t* a_step) const {
    const Geometry& g = p_.geometry;
    const Extent3 at = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1], tap % g.kernel[2]};
    Extent3 low, high, shift;
    for (int axis = 0; axis < 3; ++axis) {
      shift[axis] = at[axis] * g.dilation[axis] - g.pad_begin[axis];
      const int64_t begin = box.first[axis + 1], end = begin + box.count[axis + 1];
      low[axis] = shift[axis] >= 0 ? begin : std::max(begin, base::CeilDiv(-shift[axis], g.stride[axis]));
      high[axis] = g.input_size[axis] <= shift[axis]
                       ? 0
                       : std::min(end, base::CeilDiv(g.input_size[axis] - shift[axis], g.stride[axis]));
      if (low[axis] >= high[axis]) return 0;
    }
    const auto pixel = [&](int axis, int64_t position) {
      return input.axes[axis].Index(position * g.stride[axis] + shift[axis]);
    };
    *a_step = input.panel;
    const int64_t columns = high[2] - low[2];
    int64_t listed = 0;
    for (int64_t d = low[0]; d < high[0]; ++d) {
      for (int64_t h = low[1]; h < high[1]; ++h) {
        const int64_t a = input.Pixel(pixel(0, d), pixel(1, h), pixel(2, low[2])) * input.panel;
        const int64_t b = output.Pixel(d - box.first[1], h - box.first[2], low[2] - box.first[3]) * output.panel;
        const int64_t terms = columns * box.count[0];
        kernels::GatherRun* last = runs + listed - 1;
        if (listed > 0 && last->a + last->terms * *a_step == a && last->b + last->terms * output.panel == b) {
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

  void Store(const Block& block, const float* tiles, const WeightsScratch& scratch) const {
    const auto& strides = p_.weight_result.strides;
    const Extent3& kernel = p_.geometry.kernel;
    const int64_t lanes = s_.cut_.panels.block_lanes(), channels = s_.cut_.panels.channels(block.lanes);
    const int64_t offset = (block.group * s_.output_channels_ + s_.cut_.panels.first(block.lanes)) * strides[0] +
                           block.first_input * strides[1];
    const bool plain =
        strides[4] == 1 && strides[3] == kernel[2] && strides[2] == kernel[1] * kernel[2] && strides[1] == s_.taps_;
    if (plain) {  // input channels and taps are one line
      packing::StoreLines(result_, offset, {channels, block.inputs * s_.taps_, lanes, strides[0], 1}, scratch.lines,
                          tiles);
      return;
    }
    for (int64_t tap = 0; tap < s_.taps_; ++tap) {
      const int64_t at = offset + tap / (kernel[1] * kernel[2]) * strides[2] +
                         tap / kernel[2] % kernel[1] * strides[3] + tap % kernel[2] * strides[4];
      packing::StoreLines(result_, at, {channels, block.inputs, s_.taps_ * lanes, strides[0], strides[1]},
                          scratch.lines, tiles + tap * lanes);
    }
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  char* scratch_;
  LineReader input_, output_;
  PairReader input_pairs_, output_pairs_;  // with dot products
  LineWriter result_;
  float* partial_;
  int64_t tiles_floats_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  float* partial = cut_.segments > 1 ? static_cast<float*>(ledger.Fetch(workspace, partial_handle_)) : nullptr;
  WeightsRun(*this, problem, buffers, static_cast<char*>(ledger.Fetch(workspace, scratch_handle_)), partial).Run();
}

}  // namespace canopy::conv::channel_lanes
