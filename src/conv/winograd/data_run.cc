// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/checked_math.h"
#include "conv/channel_lanes/store.h"
#include "conv/winograd/data_step.h"
#include "exec/pool.h"

namespace canopy::conv::winograd {
namespace {

using channel_lanes::Box;

constexpr int64_t kMostTaps = 16;  // of a term

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
          void* workspace)
      : s_(step),
        t_(step.tiling_),
        p_(problem),
        b_(buffers),
        scratch_(static_cast<char*>(ledger.Fetch(workspace, s_.scratch_handle_))),
        kernels_(s_.block_units_ > 0 ? static_cast<float*>(ledger.Fetch(workspace, s_.kernels_handle_)) : nullptr),
        windows_(s_.batch_boxes_ > 0 ? static_cast<float*>(ledger.Fetch(workspace, s_.windows_handle_)) : nullptr),
        found_(*static_cast<int32_t*>(ledger.Fetch(workspace, s_.found_handle_))),
        source_(s_.forward_ ? b_.input : b_.output, s_.source_.dtype, p_.rule),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        result_(s_.forward_ ? b_.output_result : b_.input_result, s_.result_.dtype, p_.rule.saturate),
        serial_(s_.work_ < kSerialWork) {}

  // Whether every result is finite.
  bool Run() {
    found_ = 0;
    for (int worker = 0; worker < exec::ThreadCount(); ++worker) *Scratch(worker).listed = {};
    const int64_t boxes = s_.boxes_.count(), batch = s_.batch_boxes_ > 0 ? s_.batch_boxes_ : boxes;
    const int64_t units = s_.units(p_.geometry);
    for (int64_t box = 0; box < boxes; box += batch) {
      const int64_t count = std::min(batch, boxes - box);
      if (windows_ != nullptr) TransformWindows(box, count);
      if (kernels_ == nullptr) {
        ComputeUnits(box);
        continue;
      }
      for (int64_t unit = 0; unit < units; unit += s_.block_units_) {
        const int64_t unit_count = std::min(s_.block_units_, units - unit);
        if (box == 0 || units > s_.block_units_) TransformKernels(unit, unit_count);
        windows_ != nullptr ? ComputePanels(box, count, unit, unit_count) : ComputeBoxes();
      }
    }
    return found_ == 0;
  }

 private:
  DataScratch Scratch(int worker) const { return s_.ScratchAt(scratch_ + worker * s_.scratch_bytes_, nullptr); }

  void TransformKernels(int64_t first, int64_t count) const {
    const int64_t chunks = base::CeilDiv(s_.source_channels_, kKernelChunk), panels = s_.panels_.blocks();
    exec::ParallelFor(count * chunks, serial_, [&](int64_t index, int worker) {
      const int64_t unit = first + index / chunks, source = index % chunks * kKernelChunk;
      TransformKernel(unit / panels, unit % panels, source, source, Scratch(worker),
                      kernels_ + (unit - first) * s_.kernel_floats());
    });
  }

  // Those of some source channels, to row `row` of every point and term.
  void TransformKernel(int64_t group, int64_t panel, int64_t source, int64_t row, const DataScratch& scratch,
                       float* to) const {
    const int64_t lanes = s_.panels_.tiles(panel, 0).lanes, results = s_.panels_.channels(panel);
    const int64_t sources = std::min(kKernelChunk, s_.source_channels_ - source), taps = s_.weight_.taps;
    const int64_t tap_floats = sources * lanes;
    float* packed = scratch.weights;
    // Lanes of no channel are computed too, and must stay finite.
    if (results < lanes) std::memset(packed, 0, static_cast<size_t>(taps * tap_floats) * sizeof(float));
    // The weights of a group lie along its output channels.
    const int64_t offset = group * p_.geometry.group_output_channels() * p_.weight.strides[0] +
                           source * s_.weight_.source_stride + s_.panels_.first(panel) * s_.weight_.result_stride;
    channel_lanes::PackWeights(weight_, s_.weight_, {offset, sources, results, lanes}, scratch.lines,
                               scratch.weight_offsets, packed);
    if (taps < t_.terms() * t_.taps()) {
      std::memset(packed + taps * tap_floats, 0, static_cast<size_t>(tap_floats) * sizeof(float));
    }
    const kernels::WinogradInFn transform = t_.kernel_in();
    ForEach({t_.axes[0].terms, t_.axes[1].terms, t_.axes[2].terms}, [&](int64_t d, int64_t h, int64_t w) {
      int64_t offsets[kMostTaps];
      ListTaps({d, h, w}, tap_floats, offsets);
      float* rows = to + row * lanes;
      for (int64_t k = 0; k < sources; ++k) {
        transform(packed + k * lanes, offsets, lanes, rows + k * lanes, s_.kernel_step());
      }
      to += s_.kernel_channels() * lanes;
    });
  }

  // Where the taps of a term stand among the packed ones; those beyond the kernel are behind them.
  void ListTaps(const Extent3& term, int64_t tap_floats, int64_t* offsets) const {
    const Extent3& kernel = s_.weight_.kernel;
    const auto& axes = t_.axes;
    ForEach({axes[0].taps, axes[1].taps, axes[2].taps}, [&](int64_t i, int64_t j, int64_t k) {
      const int64_t d = term[0] * axes[0].taps + i, h = term[1] * axes[1].taps + j, w = term[2] * axes[2].taps + k;
      int64_t tap = s_.weight_.taps;
      if (d < kernel[0] && h < kernel[1] && w < kernel[2]) {
        tap = (d * kernel[1] + h) * kernel[2] + w;
        if (!s_.forward_) tap = s_.weight_.taps - 1 - tap;  // backward data meets the kernel mirrored
      }
      *offsets++ = tap * tap_floats;
    });
  }

  void TransformWindows(int64_t first, int64_t count) const {
    const int64_t chunks = base::CeilDiv(s_.source_channels_, kWindowChunk), groups = p_.geometry.groups;
    exec::ParallelFor(groups * count * chunks, serial_, [&](int64_t index, int worker) {
      const int64_t group = index / chunks / count, box = index / chunks % count, c = index % chunks * kWindowChunk;
      TransformBox(group, s_.boxes_.At(first + box), c, std::min(s_.source_channels_, c + kWindowChunk),
                   Scratch(worker), WindowsOf(group, box));
    });
  }

  float* WindowsOf(int64_t group, int64_t box) const {
    return windows_ + (group * s_.batch_boxes_ + box) * s_.window_floats();
  }

  channel_lanes::SlabShape ShapeOf(const Box& box) const {
    channel_lanes::SlabShape shape;
    shape.first_image = box.first[0];
    shape.images = box.count[0];
    shape.panel = kSlabChannels;
    for (int axis = 0; axis < 3; ++axis) {
      // Just what some result meets: the rest of a window would be rounded into results all the same.
      const int64_t begin = box.first[axis + 1] * t_.axes[axis].tile + s_.shift_[axis], size = s_.source_size_[axis];
      const int64_t end = begin + Results(box, axis) + (s_.weight_.kernel[axis] - 1) * t_.axes[axis].dilation;
      const int64_t low = std::clamp<int64_t>(begin, 0, size);
      shape.axes[axis] = {low, 1, std::max<int64_t>(0, std::min(end, size) - low)};
    }
    return shape;
  }

  // Source channels [begin, end) of the group.
  void TransformBox(int64_t group, const Box& box, int64_t begin, int64_t end, const DataScratch& scratch,
                    float* windows) const {
    channel_lanes::SlabShape shape = ShapeOf(box);
    ListWindows(box, shape, scratch);
    std::memset(scratch.slab, 0, kSlabChannels * sizeof(float));
    const kernels::WinogradInFn transform = t_.kernels().input;
    for (int64_t c = begin; c < end; c += kSlabChannels) {
      shape.first_channel = group * s_.source_channels_ + c;
      shape.channels = std::min(kSlabChannels, end - c);
      channel_lanes::LoadSlab(source_, s_.source_, shape, scratch.lines, scratch.slab + kSlabChannels);
      const int64_t lanes = base::RoundUp(shape.channels, kernels::kWinogradLanes);
      for (int64_t window = 0; window < s_.windows(box.count); ++window) {
        transform(scratch.slab, scratch.window_offsets + window * t_.window(), lanes,
                  windows + window * s_.padded_sources_ + c, s_.window_step());
      }
    }
  }

  // Where the pixels of every window stand in the slab; those in the padding are its first line. Most boxes are alike.
  void ListWindows(const Box& box, const channel_lanes::SlabShape& shape, const DataScratch& scratch) const {
    const auto& axes = t_.axes;
    Extent3 first;  // of the first window, in the slab
    for (int axis = 0; axis < 3; ++axis) {
      first[axis] = box.first[axis + 1] * axes[axis].tile + s_.shift_[axis] - shape.axes[axis].begin;
    }
    const std::array<int64_t, 10> key = {
        box.count[0], box.count[1], box.count[2],        box.count[3],        first[0],
        first[1],     first[2],     shape.axes[0].count, shape.axes[1].count, shape.axes[2].count};
    if (scratch.listed->windows == key) return;
    scratch.listed->windows = key;
    const auto begin = [&](int axis, int64_t index) {
      return first[axis] + axes[axis].WindowBegin(index, box.count[axis + 1]);
    };
    int64_t* offsets = scratch.window_offsets;
    for (int64_t n = 0; n < box.count[0]; ++n) {
      ForEach({s_.windows(box.count, 0), s_.windows(box.count, 1), s_.windows(box.count, 2)},
              [&](int64_t d, int64_t h, int64_t w) {
                const int64_t depth = begin(0, d), row = begin(1, h), column = begin(2, w);
                ForEach({axes[0].window, axes[1].window, axes[2].window}, [&](int64_t i, int64_t j, int64_t k) {
                  const int64_t z = depth + i * axes[0].dilation, y = row + j * axes[1].dilation;
                  const int64_t x = column + k * axes[2].dilation;
                  const bool exists = z >= 0 && z < shape.axes[0].count && y >= 0 && y < shape.axes[1].count &&
                                      x >= 0 && x < shape.axes[2].count;
                  *offsets++ = exists ? (1 + shape.Pixel(z, y, x) + n) * shape.panel : 0;
                });
              });
    }
  }

  // The number of a window of the box.
  int64_t Window(const Box& box, int64_t n, int64_t d, int64_t h, int64_t w) const {
    return ((n * s_.windows(box.count, 0) + d) * s_.windows(box.count, 1) + h) * s_.windows(box.count, 2) + w;
  }

  // Where the results of every tile stand; those beyond the tensor go to the first line.
  void ListTiles(const Box& box, int64_t lanes, const DataScratch& scratch) const {
    const auto& axes = t_.axes;
    const int64_t depths = Results(box, 0), rows = Results(box, 1), columns = Results(box, 2);
    const std::array<int64_t, 8> key = {box.count[0], box.count[1], box.count[2], box.count[3],
                                        depths,       rows,         columns,      lanes};
    if (scratch.listed->tiles == key) return;
    scratch.listed->tiles = key;
    int64_t* offsets = scratch.tile_offsets;
    int64_t tile = 0;
    for (int64_t n = 0; n < box.count[0]; ++n) {
      ForEach({box.count[1], box.count[2], box.count[3]}, [&](int64_t d, int64_t h, int64_t w) {
        scratch.row_offsets[tile] = Window(box, n, d, h, w) * s_.padded_sources_;
        scratch.sum_offsets[tile] = tile * lanes;
        ++tile;
        ForEach({axes[0].tile, axes[1].tile, axes[2].tile}, [&](int64_t i, int64_t j, int64_t k) {
          const int64_t z = axes[0].TileBegin(d) + i * axes[0].dilation;
          const int64_t y = axes[1].TileBegin(h) + j * axes[1].dilation;
          const int64_t x = axes[2].TileBegin(w) + k * axes[2].dilation;
          const int64_t position = ((n * depths + z) * rows + y) * columns + x;
          *offsets++ = z < depths && y < rows && x < columns ? (1 + position) * lanes : 0;
        });
      });
    }
  }

  template <class F>
  static void ForEach(const Extent3& count, const F& visit) {
    for (int64_t d = 0; d < count[0]; ++d) {
      for (int64_t h = 0; h < count[1]; ++h) {
        for (int64_t w = 0; w < count[2]; ++w) visit(d, h, w);
      }
    }
  }

  // Depths (axis 0), rows (1) or columns (2) of the box's results.
  int64_t Results(const Box& box, int axis) const {
    const int64_t tile = t_.axes[axis].tile;
    return std::min(box.count[axis + 1] * tile, s_.result_size_[axis] - box.first[axis + 1] * tile);
  }

  // All channels box by box.
  void ComputeBoxes() const {
    const int64_t boxes = s_.boxes_.count(), panels = s_.panels_.blocks();
    exec::ParallelFor(p_.geometry.groups * boxes, serial_, [&](int64_t index, int worker) {
      const int64_t group = index / boxes;
      const Box box = s_.boxes_.At(index % boxes);
      const DataScratch scratch = Scratch(worker);
      TransformBox(group, box, 0, s_.source_channels_, scratch, scratch.windows);
      for (int64_t panel = 0; panel < panels; ++panel) {
        ComputePanel(group, panel, box, scratch.windows, kernels_ + (group * panels + panel) * s_.kernel_floats(),
                     scratch);
      }
    });
  }

  // Some panels of boxes whose windows are there. Neighbouring jobs share their kernels.
  void ComputePanels(int64_t first_box, int64_t boxes, int64_t first_unit, int64_t units) const {
    const int64_t panels = s_.panels_.blocks();
    exec::ParallelFor(boxes * units, serial_, [&](int64_t index, int worker) {
      const int64_t unit = index / boxes, box = index % boxes, group = (first_unit + unit) / panels;
      ComputePanel(group, (first_unit + unit) % panels, s_.boxes_.At(first_box + box), WindowsOf(group, box),
                   kernels_ + unit * s_.kernel_floats(), Scratch(worker));
    });
  }

  void ComputePanel(int64_t group, int64_t panel, const Box& box, const float* windows, const float* panel_kernels,
                    const DataScratch& scratch) const {
    const int64_t lanes = s_.panels_.tiles(panel, 0).lanes;
    ListTiles(box, lanes, scratch);
    for (int64_t point = 0; point < t_.points(); ++point) {
      for (int64_t c = 0; c < s_.source_channels_; c += s_.terms_chunk_) {
        Multiply(panel, box, point, c, windows, panel_kernels + point * s_.kernel_step() + c * lanes, scratch);
      }
    }
    FinishPanel(group, panel, box, scratch);
  }

  // One panel of all tiles in a job, which transforms the kernels chunk by chunk itself.
  void ComputeUnits(int64_t box_index) const {
    const int64_t panels = s_.panels_.blocks();
    const Box box = s_.boxes_.At(box_index);
    exec::ParallelFor(s_.units(p_.geometry), serial_, [&](int64_t unit, int worker) {
      const int64_t group = unit / panels, panel = unit % panels;
      const DataScratch scratch = Scratch(worker);
      ListTiles(box, s_.panels_.tiles(panel, 0).lanes, scratch);
      for (int64_t c = 0; c < s_.source_channels_; c += s_.terms_chunk_) {
        const int64_t sources = std::min(s_.terms_chunk_, s_.source_channels_ - c);
        for (int64_t k = 0; k < sources; k += kKernelChunk) {
          TransformKernel(group, panel, c + k, k, scratch, scratch.kernels);
        }
        for (int64_t point = 0; point < t_.points(); ++point) {
          Multiply(panel, box, point, c, WindowsOf(group, 0), scratch.kernels + point * s_.kernel_step(), scratch);
        }
      }
      FinishPanel(group, panel, box, scratch);
    });
  }

  // One point's product of the source channels of one chunk, from `first`.
  void Multiply(int64_t panel, const Box& box, int64_t point, int64_t first, const float* windows,
                const float* chunk_kernels, const DataScratch& scratch) const {
    const kernels::GatherTiles& tiles = s_.panels_.tiles(panel, 0);
    const int64_t sources = std::min(s_.terms_chunk_, s_.source_channels_ - first);
    const Extent3 terms = {t_.axes[0].terms, t_.axes[1].terms, t_.axes[2].terms};
    Extent3 step;
    for (int axis = 0; axis < 3; ++axis) step[axis] = t_.axes[axis].term_step(box.count[axis + 1]);
    kernels::GatherRun runs[kMostTerms];
    int64_t term = 0;
    ForEach(terms, [&](int64_t d, int64_t h, int64_t w) {
      const int64_t window = Window(box, 0, d * step[0], h * step[1], w * step[2]);
      runs[term] = {window * s_.padded_sources_ + first, term * s_.kernel_channels() * tiles.lanes, sources};
      ++term;
    });
    kernels::GatherOperands operands{};
    operands.runs = runs;
    operands.run_count = term;
    operands.a = windows + point * s_.window_step();
    operands.b = chunk_kernels;
    operands.b_step = tiles.lanes;
    operands.c = scratch.sums + point * s_.sum_step();
    const int64_t rows = box.positions(), calls = base::CeilDiv(rows, tiles.most_rows);
    for (int64_t call = 0; call < calls; ++call) {
      const int64_t begin = call * rows / calls, end = (call + 1) * rows / calls;
      operands.row_offsets = scratch.row_offsets + begin;
      operands.result_offsets = scratch.sum_offsets + begin;
      tiles.scattered[end - begin](operands, first > 0);
    }
  }

  // From the sums to the tensor.
  void FinishPanel(int64_t group, int64_t panel, const Box& box, const DataScratch& scratch) const {
    const int64_t lanes = s_.panels_.tiles(panel, 0).lanes;
    const int64_t positions = box.count[0] * Results(box, 0) * Results(box, 1) * Results(box, 2);
    const kernels::WinogradOutFn transform = t_.result_out();
    for (int64_t tile = 0; tile < box.positions(); ++tile) {
      transform(scratch.sums + tile * lanes, s_.sum_step(), lanes, scratch.tiles,
                scratch.tile_offsets + tile * t_.tile());
    }
    float* results = scratch.tiles + lanes;
    const int64_t first = group * s_.result_channels_ + s_.panels_.first(panel), channels = s_.panels_.channels(panel);
    if (kernels::Lines().any_nonfinite(results, positions * lanes)) {
      std::atomic_ref<int32_t>(found_).store(1, std::memory_order_relaxed);
    }
    if (p_.has_bias) AddBias(first, channels, positions, lanes, results, scratch.bias);
    Store(first, channels, box, lanes, results, scratch);
  }

  void AddBias(int64_t first, int64_t channels, int64_t positions, int64_t lanes, float* results, float* bias) const {
    for (int64_t c = 0; c < channels; ++c) {
      const char* at =
          static_cast<const char*>(b_.bias) + (first + c) * p_.bias.strides[1] * numerics::ElementBytes(p_.bias.dtype);
      bias[c] = numerics::LoadElement(at, p_.bias.dtype);
    }
    for (int64_t position = 0; position < positions; ++position) {
      for (int64_t c = 0; c < channels; ++c) results[position * lanes + c] += bias[c];
    }
  }

  void Store(int64_t first, int64_t channels, const Box& box, int64_t lanes, const float* results,
             const DataScratch& scratch) const {
    const auto& strides = s_.result_.strides;
    // Whole rows that follow one another in memory are one line.
    int64_t rows = Results(box, 1), row = Results(box, 2);
    if (strides[3] == row * strides[4]) {
      row *= rows;
      rows = 1;
    }
    int64_t origin = first * strides[1] + box.first[0] * strides[0];
    for (int axis = 0; axis < 3; ++axis) origin += box.first[axis + 1] * t_.axes[axis].tile * strides[2 + axis];
    for (int64_t n = 0; n < box.count[0]; ++n) {
      ForEach({Results(box, 0), rows, 1}, [&](int64_t d, int64_t h, int64_t) {
        const int64_t offset = origin + n * strides[0] + d * strides[2] + h * strides[3];
        channel_lanes::StoreLines(result_, offset, {channels, row, lanes, strides[1], strides[4]}, scratch.lines,
                                  results);
        results += row * lanes;
      });
    }
  }

  const DataStep& s_;
  const Tiling& t_;
  const ConvProblem& p_;
  const Buffers& b_;
  char* scratch_;
  float* kernels_;  // nullptr: each job has its own
  float* windows_;  // likewise
  int32_t& found_;
  LineReader source_, weight_;
  LineWriter result_;
  bool serial_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  if (!DataRun(*this, problem, buffers, ledger, workspace).Run()) direct_.Run(problem, buffers, ledger, workspace);
}

}  // namespace canopy::conv::winograd
