// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/packing/row_panels.h"
#include "conv/winograd/data_boxes.h"
#include "conv/winograd/data_kernels.h"
#include "conv/winograd/data_step.h"
#include "exec/pool.h"

namespace canopy::conv::winograd {
namespace {

using packing::Box;

constexpr int64_t kLineBytes = 64;         // of a cache
constexpr int64_t kFewKernels = 64 << 10;  // floats of all: 256 KiB of the L2

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
          void* workspace)
      : s_(step),
        t_(step.tiling_),
        p_(problem),
        scratch_(ledger.FetchEach(workspace, s_.scratch_handle_)),
        kernels_(s_.kernels_handle_ >= 0 ? static_cast<float*>(ledger.Fetch(workspace, s_.kernels_handle_)) : nullptr),
        windows_(s_.batch_boxes_ > 0 ? static_cast<float*>(ledger.Fetch(workspace, s_.windows_handle_)) : nullptr),
        product_(s_.small() ? kernels::WinogradProduct() : nullptr),
        found_(*static_cast<int32_t*>(ledger.Fetch(workspace, s_.found_handle_))),
        boxes_(step, problem, buffers),
        kernel_maker_(step, problem, buffers),
        serial_(s_.work_ < kSerialWork) {}

  // Whether every result is finite.
  bool Run(const plan::WorkspaceLedger& ledger, void* workspace) {
    found_ = 0;
    for (int worker = 0; worker < exec::ThreadCount(); ++worker) *Scratch(worker).listed = {};
    if (windows_ == nullptr) {
      s_.block_units_ == 0 ? ComputeOwnBoxes() : ComputeBoxes(ledger, workspace);
      return found_ == 0;
    }
    const int64_t boxes = s_.boxes_.count(), batch = s_.batch_boxes_;
    const int64_t units = s_.units(p_.geometry);
    for (int64_t box = 0; box < boxes; box += batch) {
      const int64_t count = std::min(batch, boxes - box);
      TransformWindows(box, count);
      if (s_.own_units_) {
        ComputeOwnUnits(box, count);
        continue;
      }
      if (kernels_ == nullptr) {
        ComputeUnits(box);
        continue;
      }
      for (int64_t unit = 0; unit < units; unit += s_.block_units_) {
        const int64_t unit_count = std::min(s_.block_units_, units - unit);
        if (box == 0 || units > s_.block_units_) TransformKernels(unit, unit_count);
        ComputePanels(box, count, unit, unit_count);
      }
    }
    return found_ == 0;
  }

 private:
  DataScratch Scratch(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  void TransformKernels(int64_t first, int64_t count) const {
    const int64_t chunks = base::CeilDiv(s_.source_channels_, kKernelChunk);
    exec::ParallelFor(count * chunks, serial_, [&](int64_t index, int worker) {
      kernel_maker_.MakeChunk(first + index / chunks, index % chunks * kKernelChunk, Scratch(worker),
                              kernels_ + index / chunks * s_.unit_floats());
    });
  }

  void TransformWindows(int64_t first, int64_t count) const {
    const int64_t chunks = base::CeilDiv(s_.source_channels_, kWindowChunk), groups = p_.geometry.groups;
    exec::ParallelFor(groups * count * chunks, serial_, [&](int64_t index, int worker) {
      const int64_t group = index / chunks / count, box = index / chunks % count, c = index % chunks * kWindowChunk;
      boxes_.TransformBox(group, s_.boxes_.At(first + box), c, std::min(s_.source_channels_, c + kWindowChunk),
                          Scratch(worker), WindowsOf(group, box));
    });
  }

  float* WindowsOf(int64_t group, int64_t box) const {
    return windows_ + (group * s_.batch_boxes_ + box) * s_.window_floats();
  }

  // All channels box by box.
  void ComputeBoxes(const plan::WorkspaceLedger& ledger, void* workspace) const {
    const int64_t chunks = base::CeilDiv(s_.source_channels_, kKernelChunk);
    const auto make = [&](int64_t part, int worker, float* numbers) {
      kernel_maker_.MakeChunk(part / chunks, part % chunks * kKernelChunk, Scratch(worker),
                              numbers + part / chunks * s_.unit_floats());
    };
    const packing::CommonNumbers::Run all_kernels(s_.kernels_of_all_, ledger, workspace, make);
    all_kernels.Begin(serial_);
    const int64_t boxes = s_.boxes_.count(), panels = s_.panels_.blocks(), groups = p_.geometry.groups;
    // Boxes of one place have the same lists, which take a good part of the time where there are few products: then
    // images, and groups, come one after another. Else what neighbours share of their windows is worth more.
    const bool few = groups * panels * s_.unit_floats() <= kFewKernels;
    const int64_t images = s_.boxes_.images();
    exec::ParallelFor(groups * boxes, serial_, [&](int64_t index, int worker) {
      const int64_t group = few ? index / images % groups : index / boxes;
      const Box box =
          few ? s_.boxes_.AtByPlace(index / images / groups * images + index % images) : s_.boxes_.At(index % boxes);
      const DataScratch scratch = Scratch(worker);
      const float* kernels = all_kernels.Of(worker);
      boxes_.TransformBox(group, box, 0, s_.source_channels_, scratch, scratch.windows);
      for (int64_t panel = 0; panel < panels; ++panel) {
        ComputePanel(group, panel, box, scratch.windows, kernels + (group * panels + panel) * s_.unit_floats(),
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
                   kernels_ + unit * s_.unit_floats(), Scratch(worker));
    });
  }

  // A panel of all boxes whose windows are there in a job, which transforms its kernels itself.
  void ComputeOwnUnits(int64_t first_box, int64_t boxes) const {
    const int64_t panels = s_.panels_.blocks();
    exec::ParallelFor(s_.units(p_.geometry), serial_, [&](int64_t unit, int worker) {
      const DataScratch scratch = Scratch(worker);
      float* kernels = kernels_ + worker * s_.unit_floats();
      for (int64_t source = 0; source < s_.source_channels_; source += kKernelChunk) {
        kernel_maker_.MakeChunk(unit, source, scratch, kernels);
      }
      for (int64_t box = 0; box < boxes; ++box) {
        ComputePanel(unit / panels, unit % panels, s_.boxes_.At(first_box + box), WindowsOf(unit / panels, box),
                     kernels, scratch);
      }
    });
  }

  void ComputePanel(int64_t group, int64_t panel, const Box& box, const float* windows, const float* panel_kernels,
                    const DataScratch& scratch) const {
    const int64_t lanes = s_.panels_.tiles(panel, 0).lanes;
    boxes_.lists().Tiles(box, lanes, scratch);
    for (int64_t phase = 0; phase < t_.phases(); ++phase, panel_kernels += s_.kernel_floats()) {
      for (int64_t point = 0; point < t_.points(); ++point) {
        for (int64_t c = 0; c < s_.source_channels_; c += s_.terms_chunk_) {
          Multiply({panel, phase, point, c}, box, windows, panel_kernels + point * s_.kernel_step() + c * lanes,
                   scratch);
        }
      }
      TransformBack(panel, phase, box, scratch);
    }
    Finish(group, panel, box, scratch);
  }

  // One panel of all tiles in a job, which transforms the kernels chunk by chunk itself.
  void ComputeUnits(int64_t box_index) const {
    const Box box = s_.boxes_.At(box_index);
    exec::ParallelFor(s_.units(p_.geometry), serial_, [&](int64_t unit, int worker) {
      ComputeUnit(unit, box, WindowsOf(unit / s_.panels_.blocks(), 0), Scratch(worker));
    });
  }

  // All panels of some tiles in a job, which transforms its windows and the kernels itself: no thread reads what
  // another one has made.
  void ComputeOwnBoxes() const {
    const int64_t boxes = s_.boxes_.count(), panels = s_.panels_.blocks();
    exec::ParallelFor(p_.geometry.groups * boxes, serial_, [&](int64_t index, int worker) {
      const int64_t group = index / boxes;
      const Box box = s_.boxes_.At(index % boxes);
      const DataScratch scratch = Scratch(worker);
      boxes_.TransformBox(group, box, 0, s_.source_channels_, scratch, scratch.windows);
      for (int64_t panel = 0; panel < panels; ++panel) {
        ComputeUnit(group * panels + panel, box, scratch.windows, scratch);
      }
    });
  }

  void ComputeUnit(int64_t unit, const Box& box, const float* windows, const DataScratch& scratch) const {
    const int64_t panels = s_.panels_.blocks(), group = unit / panels, panel = unit % panels;
    boxes_.lists().Tiles(box, s_.panels_.tiles(panel, 0).lanes, scratch);
    const bool once = s_.packed_chunks() > 1;  // for all phases
    for (int64_t k = 0; once && k < s_.source_channels_; k += kKernelChunk) {
      kernel_maker_.Pack(unit, k, scratch, scratch.weights + k / kKernelChunk * s_.packed_floats());
    }
    for (int64_t phase = 0; phase < t_.phases(); ++phase) {
      for (int64_t c = 0; c < s_.source_channels_; c += s_.terms_chunk_) {
        const int64_t sources = std::min(s_.terms_chunk_, s_.source_channels_ - c);
        for (int64_t k = 0; k < sources; k += kKernelChunk) {
          float* packed = scratch.weights + (once ? (c + k) / kKernelChunk * s_.packed_floats() : 0);
          const int64_t coming = k + kKernelChunk;
          if (!once) kernel_maker_.Pack(unit, c + k, scratch, packed);
          kernel_maker_.Transform(
              panel, c + k, packed, k, phase, phase + 1, scratch.kernels,
              once || coming >= sources ? packing::WeightRuns() : kernel_maker_.Runs(unit, c + coming));
        }
        packing::WeightRuns next = once ? packing::WeightRuns() : kernel_maker_.Runs(unit, c + sources);
        for (int64_t point = 0; point < t_.points(); ++point) {
          kernel_maker_.Ask(&next, point + 1, t_.points());
          Multiply({panel, phase, point, c}, box, windows, scratch.kernels + point * s_.kernel_step(), scratch);
        }
      }
      TransformBack(panel, phase, box, scratch);
    }
    Finish(group, panel, box, scratch);
  }

  struct Product {
    int64_t panel, phase, point, first;
  };

  // One point's product of the source channels of one chunk, from `first`, but for terms that vanish there.
  void Multiply(const Product& product, const Box& box, const float* windows, const float* chunk_kernels,
                const DataScratch& scratch) const {
    const int64_t first = product.first, point = product.point;
    const TileRange range = boxes_.TilesAt(point, scratch);
    const int64_t *row_offsets = scratch.row_offsets + range.first, *sum_offsets = scratch.sum_offsets + range.first;
    if (product_ != nullptr) {
      return product_(windows + point * s_.window_step(), chunk_kernels, row_offsets, range.count,
                      scratch.sums + point * s_.sum_step() + sum_offsets[0]);
    }
    const kernels::GatherTiles& tiles = s_.panels_.tiles(product.panel, 0);
    const int64_t sources = std::min(s_.terms_chunk_, s_.source_channels_ - first);
    kernels::GatherRun runs[kMostTerms]{};
    int64_t count = 0;
    boxes_.lists().ForTerms(box, product.phase, point, [&](int64_t term, int64_t window) {
      const int64_t kernel = term * s_.kernel_channels() * tiles.lanes;
      runs[count++] = {window * s_.padded_sources_ + first, kernel, sources};
    });
    kernels::GatherOperands operands{};
    operands.runs = runs;
    operands.run_count = count;
    operands.a = windows + point * s_.window_step();
    operands.b = chunk_kernels;
    operands.b_step = tiles.lanes;
    operands.c = scratch.sums + point * s_.sum_step();
    // Windows of all boxes are beyond the L2: those of the next point are asked for meanwhile.
    const int64_t next = windows_ != nullptr && point + 1 < t_.points() ? s_.window_step() : 0;
    operands.ahead_step = kLineBytes;
    operands.ahead_terms = std::max<int64_t>(1, sources * int64_t{sizeof(float)} / kLineBytes);
    operands.ahead_row = s_.padded_sources_ * int64_t{sizeof(float)};
    const packing::RowPanels panels(range.count, tiles.most_rows);
    for (int64_t p = 0; p < panels.count(); p += operands.panels) {
      const int64_t begin = panels.first(p), count = panels.rows(p);
      operands.panels = panels.Alike(p);
      operands.offsets_panel = count;
      operands.row_offsets = row_offsets + begin;
      operands.result_offsets = sum_offsets + begin;
      operands.ahead = operands.a + next + runs[0].a + row_offsets[begin];
      operands.ahead_panel = count * operands.ahead_row;
      (next > 0 ? tiles.scattered_ahead : tiles.scattered)[count](operands, first > 0);
    }
  }

  void TransformBack(int64_t panel, int64_t phase, const Box& box, const DataScratch& scratch) const {
    const int64_t lanes = s_.panels_.tiles(panel, 0).lanes;
    boxes_.TransformBack(panel, phase, box, {scratch.sums, lanes, s_.sum_step()}, scratch);
  }

  void Finish(int64_t group, int64_t panel, const Box& box, const DataScratch& scratch) const {
    if (!boxes_.FinishPanel(group, panel, box, scratch)) {
      std::atomic_ref<int32_t>(found_).store(1, std::memory_order_relaxed);
    }
  }

  const DataStep& s_;
  const Tiling& t_;
  const ConvProblem& p_;
  plan::Shares scratch_;
  float* kernels_;                      // of some units at once, or nullptr
  float* windows_;                      // of some boxes, or nullptr: each job has its own
  kernels::WinogradProductFn product_;  // or nullptr: tiles of the panel
  int32_t& found_;
  DataBoxes boxes_;
  DataKernels kernel_maker_;
  bool serial_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  const bool finite = in_parts() ? RunInParts(problem, buffers, ledger, workspace)
                                 : DataRun(*this, problem, buffers, ledger, workspace).Run(ledger, workspace);
  if (!finite) direct_.Run(problem, buffers, ledger, workspace);
}

}  // namespace canopy::conv::winograd
