// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/channel_lanes/data_step.h"
#include "conv/channel_lanes/position_panels.h"
#include "conv/channel_lanes/result_asks.h"
#include "conv/elements.h"
#include "conv/packing/store.h"
#include "exec/pool.h"

namespace canopy::conv::channel_lanes {

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch)
      : s_(step),
        p_(problem),
        b_(buffers),
        scratch_(scratch),
        source_(s_.forward_ ? b_.input : b_.output, s_.source_.dtype, p_.rule),
        source_pairs_(s_.forward_ ? b_.input : b_.output, s_.source_.dtype, p_.rule),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        weight_pairs_(b_.weight, p_.weight.dtype, p_.rule),
        result_(s_.forward_ ? b_.output_result : b_.input_result, s_.result_.dtype, p_.rule.saturate) {}

  void Run(const plan::WorkspaceLedger& ledger, void* workspace) const {
    const int64_t boxes = s_.cut_.boxes.count(), blocks = s_.cut_.panels.blocks();
    const bool serial = s_.work_ < kSerialWork;
    const auto pack = [&](int64_t index, int worker, float* packed) { PackPart(index, ScratchOf(worker), packed); };
    const packing::CommonNumbers::Run weights(s_.weights_, ledger, workspace, pack);
    weights.Begin(serial);
    // Neighbouring jobs share their weights.
    exec::ParallelFor(s_.Jobs(s_.cut_, p_.geometry), serial, [&](int64_t index, int worker) {
      DataScratch scratch = ScratchOf(worker);
      scratch.packed = weights.Of(worker);
      Job(GroupsAt(index / (boxes * blocks)), index / boxes % blocks, s_.cut_.boxes.At(index % boxes), scratch);
    });
  }

 private:
  // Those of a job.
  struct Groups {
    int64_t first, count;
  };
  Groups GroupsAt(int64_t index) const {
    const int64_t first = index * s_.cut_.groups;
    return {first, std::min(s_.cut_.groups, p_.geometry.groups - first)};
  }

  // Weights that are packed together: a panel of a group's result channels by a chunk of source channels.
  struct PanelAt {
    int64_t group, panel, source;
  };

  // Of packed weights, in floats: from source channel to source channel, and so on.
  struct PackedSteps {
    int64_t source, tap, group;
  };
  PackedSteps StepsOf(const PanelAt& at, int64_t groups) const {
    const packing::WeightBlock block = BlockOf(at);
    const int64_t terms = s_.Terms(block.sources), results = s_.result_channels_;
    if (s_.cut_.one_matrix) return {results, groups * terms * results, terms * results};
    return {block.lanes, s_.dot_rate_ > 0 ? terms * block.lanes : block.tap_step(), s_.PanelFloats()};
  }

  // Part `index` of those of all jobs.
  void PackPart(int64_t index, const DataScratch& scratch, float* packed) const {
    const int64_t chunks = base::CeilDiv(s_.source_channels_, s_.chunk_), panels = s_.AllPanels();
    const Groups groups = GroupsAt(index / (panels * chunks));
    const PanelAt at{groups.first, index / chunks % panels, index % chunks * s_.chunk_};
    Pack(at, groups.count, scratch);
    const PackedSteps steps = StepsOf(at, groups.count);
    // Up to the last source channel's: what is behind belongs to the next groups.
    const int64_t terms = s_.Terms(BlockOf(at).sources);
    const int64_t floats = (groups.count - 1) * steps.group + (s_.weight_.taps - 1) * steps.tap + terms * steps.source;
    std::memcpy(packed + PackedOffset(at), scratch.weights, static_cast<size_t>(floats) * sizeof(float));
  }

  DataScratch ScratchOf(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  // A class of each axis within a box.
  struct Clipped {
    std::array<const packing::AxisClass*, 3> axes;
    Extent3 low, count;

    int64_t positions() const { return count[0] * count[1] * count[2]; }
  };

  template <class F>
  void ForEachClass(const packing::Box& box, const F& visit) const {
    Clipped c;
    const auto clip = [&](int axis, const packing::AxisClass& one) {
      int64_t high;
      one.Clip(box.first[axis + 1], box.first[axis + 1] + box.count[axis + 1], &c.low[axis], &high);
      c.axes[axis] = &one;
      c.count[axis] = high - c.low[axis];
      return c.count[axis] > 0;
    };
    for (const packing::AxisClass& d : s_.classes_[0]) {
      if (!clip(0, d)) continue;
      for (const packing::AxisClass& h : s_.classes_[1]) {
        if (!clip(1, h)) continue;
        for (const packing::AxisClass& w : s_.classes_[2]) {
          if (clip(2, w)) visit(c);
        }
      }
    }
  }

  packing::SlabShape ShapeOf(const packing::Box& box) const {
    packing::SlabShape shape;
    shape.first_image = box.first[0];
    shape.images = box.count[0];
    shape.panel = s_.cut_.groups * s_.Terms(s_.chunk_);
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t begin = box.first[axis + 1];
      shape.axes[axis] =
          packing::SourceRange(s_.classes_[axis], s_.load_step_[axis], begin, begin + box.count[axis + 1]);
    }
    return shape;
  }

  void Job(const Groups& groups, int64_t block, const packing::Box& box, const DataScratch& scratch) const {
    const packing::LanePanels& panels = s_.cut_.panels;
    packing::SlabShape shape = ShapeOf(box);
    ListPositions(box, shape, scratch);
    const int64_t first_result = groups.first * s_.result_channels_ + panels.first(block);
    const int64_t results = groups.count == 1 ? panels.channels(block) : groups.count * s_.result_channels_;
    int64_t c = 0;
    do {  // once for no channels at all: the results are then 0
      shape.first_channel = groups.first * s_.source_channels_ + c;
      shape.channels = groups.count * std::min(s_.chunk_, s_.source_channels_ - c);
      if (s_.dot_rate_ > 0) {
        packing::LoadChannelPairs(source_pairs_, s_.source_, shape, scratch.lines, scratch.slab);
      } else {
        packing::LoadSlab(source_, s_.source_, shape, scratch.lines, scratch.slab);
      }
      for (int64_t panel = 0; panel < panels.panels(block); ++panel) {
        const PanelAt at{groups.first, panels.first(block) / panels.panel_lanes() + panel, c};
        const bool packed = scratch.packed != nullptr;
        if (!packed) Pack(at, groups.count, scratch);
        const float* weights = packed ? scratch.packed + PackedOffset(at) : scratch.weights;
        const packing::WeightRuns next = packed ? packing::WeightRuns() : RunsBehind(at, block);
        Multiply(box, shape, at, groups.count, weights, panel * panels.panel_lanes(), next, scratch);
      }
      c += s_.chunk_;
    } while (c < s_.source_channels_);
    if (p_.has_bias) AddBias(first_result, results, box, scratch);
    Store(first_result, results, box, scratch);
  }

  // What is packed after a panel of a block.
  packing::WeightRuns RunsBehind(PanelAt at, int64_t block) const {
    const int64_t first = s_.cut_.panels.first(block) / s_.cut_.panels.panel_lanes();
    if (++at.panel == first + s_.cut_.panels.panels(block)) {
      at.panel = first;
      at.source += s_.chunk_;
      if (at.source >= s_.source_channels_) return {};
    }
    return packing::WeightRuns(s_.weight_, BlockOf(at));
  }

  const kernels::GatherTiles& TilesOf(const PanelAt& at) const {
    const int64_t a_block = s_.cut_.panels.block_lanes() / s_.cut_.panels.panel_lanes();
    return s_.cut_.panels.tiles(at.panel / a_block, at.panel % a_block);
  }

  packing::WeightBlock BlockOf(const PanelAt& at) const {
    const int64_t first = at.panel * s_.cut_.panels.panel_lanes(), lanes = TilesOf(at).lanes;
    const int64_t sources = std::min(s_.chunk_, s_.source_channels_ - at.source);
    return {WeightOffset(at.group, at.source, first), sources, std::min(lanes, s_.result_channels_ - first), lanes,
            s_.TapGap(sources * lanes)};
  }

  // Of a panel that was packed before.
  int64_t PackedOffset(const PanelAt& at) const {
    return (at.group * s_.AllPanels() + at.panel) * s_.PanelFloats() +
           s_.weight_.taps * s_.Terms(at.source) * TilesOf(at).lanes;
  }

  // Fills scratch.weights with those of several groups.
  void Pack(const PanelAt& at, int64_t groups, const DataScratch& scratch) const {
    if (s_.cut_.one_matrix) {
      packing::WeightBlock all = BlockOf(at);
      all.sources *= groups;
      all.lanes = all.results;
      return packing::PackWeights(weight_, s_.weight_, all, scratch.lines, scratch.weight_offsets, scratch.weights);
    }
    for (int64_t i = 0; i < groups; ++i) {
      PackGroup({at.group + i, at.panel, at.source}, scratch, scratch.weights + i * s_.PanelFloats());
    }
  }

  void PackGroup(const PanelAt& at, const DataScratch& scratch, float* to) const {
    if (s_.dot_rate_ > 0) {
      packing::PackWeightPairs(weight_, weight_pairs_, s_.weight_, BlockOf(at), scratch.lines, scratch.weight_offsets,
                               to);
    } else {
      packing::PackWeights(weight_, s_.weight_, BlockOf(at), scratch.lines, scratch.weight_offsets, to);
    }
  }

  // The weights of a group lie along its output channels.
  int64_t WeightOffset(int64_t group, int64_t source, int64_t result) const {
    return group * p_.geometry.group_output_channels() * p_.weight.strides[0] + source * s_.weight_.source_stride +
           result * s_.weight_.result_stride;
  }

  // Where each position's pixel stands in the slab and its result among the tiles, class by class.
  void ListPositions(const packing::Box& box, const packing::SlabShape& shape, const DataScratch& scratch) const {
    int64_t* rows = scratch.row_offsets;
    int64_t* results = scratch.result_offsets;
    ForEachClass(box, [&](const Clipped& c) {
      const auto at = [&](int axis, int64_t i) {
        const packing::AxisClass& one = *c.axes[axis];
        return one.first + (c.low[axis] + i) * one.step - box.first[axis + 1];
      };
      const PositionPanels panels = PanelsOf(c, box, s_.cut_.panels.most_rows());
      const Extent3 strides = {Stride(c, 0), Stride(c, 1), Stride(c, 2)};
      const int64_t row_step = strides[2] * box.count[0] * shape.panel;
      const int64_t result_step = c.axes[2]->step * box.count[0] * s_.cut_.tile_lanes;
      for (int64_t d = 0; d < c.count[0]; ++d) {
        for (int64_t h = 0; h < c.count[1]; ++h) {
          int64_t row = shape.Pixel(d * strides[0], h * strides[1], 0) * shape.panel;
          int64_t result =
              ((at(0, d) * box.count[2] + at(1, h)) * box.count[3] + at(2, 0)) * box.count[0] * s_.cut_.tile_lanes;
          for (int64_t w = 0; w < c.count[2]; ++w, row += row_step, result += result_step) {
            for (int64_t n = 0; n < box.count[0]; ++n) {
              const int64_t place = panels.Place(d * c.count[1] + h, w * box.count[0] + n);
              rows[place] = row + n * shape.panel;
              results[place] = result + n * s_.cut_.tile_lanes;
            }
          }
        }
      }
      rows += c.positions() * box.count[0];
      results += c.positions() * box.count[0];
    });
  }

  // Positions of a box, as often as they are in a class: only columns are in several.
  int64_t PlacesOf(const packing::Box& box) const {
    int64_t columns = 0;
    for (const packing::AxisClass& one : s_.classes_[2]) {
      int64_t low, high;
      one.Clip(box.first[3], box.first[3] + box.count[3], &low, &high);
      columns += high - low;
    }
    return box.count[0] * box.count[1] * box.count[2] * columns;
  }

  // For tiles of so many rows at most: where it matters to the order, all tiles have the same.
  PositionPanels PanelsOf(const Clipped& c, const packing::Box& box, int64_t most) const {
    return {c.count[0] * c.count[1], c.count[2] * box.count[0], most, s_.matrix_unit_};
  }

  // Slab indices from position to position.
  int64_t Stride(const Clipped& c, int axis) const { return c.axes[axis]->source_step / s_.load_step_[axis]; }

  void Multiply(const packing::Box& box, const packing::SlabShape& shape, const PanelAt& at, int64_t groups,
                const float* weights, int64_t lane, packing::WeightRuns next, const DataScratch& scratch) const {
    const kernels::GatherTiles& tiles = TilesOf(at);
    const PackedSteps steps = StepsOf(at, groups);
    const int64_t terms = s_.Terms(shape.channels / groups);
    const int64_t places = PlacesOf(box);
    const ResultAsks asks = AsksOf(box, at);
    int64_t done = 0, call = 0;
    kernels::GatherOperands operands{};
    operands.runs = scratch.runs;
    operands.b_step = steps.source;
    operands.row_offsets = scratch.row_offsets;
    operands.result_offsets = scratch.result_offsets;
    ForEachClass(box, [&](const Clipped& c) {
      operands.run_count = ListRuns(c, shape, terms, steps, scratch.runs);
      const PositionPanels panels = PanelsOf(c, box, tiles.most_rows);
      for (int64_t panel = 0; panel < panels.count(); panel += operands.panels) {
        const int64_t rows = panels.size(panel);
        operands.panels = 1;
        while (operands.panels < s_.panels_a_call_ && panels.size(panel + operands.panels) == rows) ++operands.panels;
        operands.offsets_panel = rows;
        for (int64_t i = 0; i < groups; ++i) {
          // What it writes beyond its group's lanes the next overwrites.
          operands.a = scratch.slab + i * terms;
          operands.b = weights + i * steps.group;
          operands.c = scratch.tiles + lane + i * s_.result_channels_;
          const bool ask = asks.Assign(call++, &operands);
          (ask ? tiles.scattered_ahead : tiles.scattered)[rows](operands, at.source > 0 || c.axes[2]->adds);
        }
        operands.row_offsets += operands.panels * rows;
        operands.result_offsets += operands.panels * rows;
        done += operands.panels * rows;
        next.Prefetch(weight_, done, places);
      }
    });
  }

  // Of an image, whose rows follow one another in memory.
  ResultAsks AsksOf(const packing::Box& box, const PanelAt& at) const {
    const auto& strides = s_.result_.strides;
    const bool whole =
        strides[3] == box.count[3] * strides[4] && (box.count[1] == 1 || strides[2] == box.count[2] * strides[3]);
    if (!s_.asks_ || !whole) return {};
    const int64_t first = at.panel * s_.cut_.panels.panel_lanes();
    const float* to = result_.Direct(OffsetOf(at.group * s_.result_channels_ + first, box), strides[4]);
    if (to == nullptr) return {};
    int64_t calls = 0;
    ForEachClass(box, [&](const Clipped& c) { calls += PanelsOf(c, box, TilesOf(at).most_rows).count(); });
    return {to, std::min<int64_t>(TilesOf(at).lanes, s_.result_channels_ - first), strides[1], box.positions(),
            std::max<int64_t>(1, calls)};
  }

  // Whether `run` is more of the terms of `last`, which are few where channels are. A matrix unit sums the terms of a
  // run by pairs: which run they are in is the problem's, as the order of every sum.
  bool Continues(const kernels::GatherRun& last, const kernels::GatherRun& run, int64_t b_step) const {
    return !s_.matrix_unit_ && run.a == last.a + last.terms && run.b == last.b + last.terms * b_step;
  }

  int64_t ListRuns(const Clipped& c, const packing::SlabShape& shape, int64_t terms, const PackedSteps& steps,
                   kernels::GatherRun* runs) const {
    const Extent3& kernel = p_.geometry.kernel;
    const auto index = [&](int axis, const packing::AxisClass::Tap& tap) {
      return shape.axes[axis].Index(tap.source + c.low[axis] * c.axes[axis]->source_step);
    };
    int64_t listed = 0;
    for (const packing::AxisClass::Tap& d : c.axes[0]->taps) {
      const int64_t depth = index(0, d);
      for (const packing::AxisClass::Tap& h : c.axes[1]->taps) {
        const int64_t row = index(1, h), first_tap = (d.kernel * kernel[1] + h.kernel) * kernel[2];
        for (const packing::AxisClass::Tap& w : c.axes[2]->taps) {
          const kernels::GatherRun run{shape.Pixel(depth, row, index(2, w)) * shape.panel,
                                       (first_tap + w.kernel) * steps.tap, terms};
          if (listed > 0 && Continues(runs[listed - 1], run, steps.source)) {
            runs[listed - 1].terms += terms;
          } else {
            runs[listed++] = run;
          }
        }
      }
    }
    return listed;
  }

  void AddBias(int64_t first, int64_t channels, const packing::Box& box, const DataScratch& scratch) const {
    for (int64_t c = 0; c < channels; ++c) scratch.bias[c] = LoadBias(p_, b_, first + c);
    for (int64_t position = 0; position < box.positions(); ++position) {
      float* tile = scratch.tiles + position * s_.cut_.tile_lanes;
      for (int64_t c = 0; c < channels; ++c) tile[c] += scratch.bias[c];
    }
  }

  // Of a channel's first result in a box.
  int64_t OffsetOf(int64_t channel, const packing::Box& box) const {
    const auto& strides = s_.result_.strides;
    return channel * strides[1] + box.first[0] * strides[0] + box.first[1] * strides[2] + box.first[2] * strides[3] +
           box.first[3] * strides[4];
  }

  void Store(int64_t first, int64_t channels, const packing::Box& box, const DataScratch& scratch) const {
    const auto& strides = s_.result_.strides;
    const int64_t lanes = s_.cut_.tile_lanes;
    // Whole rows that follow one another in memory are one line.
    int64_t row = box.count[3], rows = box.count[2];
    if (strides[3] == row * strides[4]) {
      row *= rows;
      rows = 1;
    }
    for (int64_t n = 0; n < box.count[0]; ++n) {
      for (int64_t d = 0; d < box.count[1]; ++d) {
        for (int64_t h = 0; h < rows; ++h) {
          const int64_t offset = OffsetOf(first, box) + n * strides[0] + d * strides[2] + h * strides[3];
          packing::StoreLines(result_, offset, {channels, row, box.count[0] * lanes, strides[1], strides[4]},
                              scratch.lines, scratch.tiles + ((d * rows + h) * row * box.count[0] + n) * lanes);
        }
      }
    }
  }

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  plan::Shares scratch_;
  LineReader source_;
  PairReader source_pairs_;  // with dot products
  LineReader weight_;
  PairReader weight_pairs_;  // with dot products
  LineWriter result_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  DataRun(*this, problem, buffers, ledger.FetchEach(workspace, scratch_handle_)).Run(ledger, workspace);
}

}  // namespace canopy::conv::channel_lanes
