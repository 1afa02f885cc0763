// SPDX-License-Identifier: Apache-2.0
// Forward and backward data whose products are of numbers in parts.
#include <algorithm>
#include <cstring>
#include <new>

#include "base/checked_math.h"
#include "conv/split_gemm/blocks.h"
#include "conv/split_gemm/losses.h"
#include "conv/winograd/data_boxes.h"
#include "conv/winograd/data_kernels.h"
#include "conv/winograd/data_step.h"
#include "exec/pool.h"

namespace canopy::conv::winograd {
namespace {

using kernels::kSplitBlocks;
using kernels::kSplitSide;
using packing::Box;

constexpr int64_t kPhase = 0;     // there is one
constexpr int64_t kOneBlock = 0;  // and no step to others

}  // namespace

class SplitRun {
 public:
  SplitRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers,
           const plan::WorkspaceLedger& ledger, void* workspace)
      : s_(step),
        t_(step.tiling_),
        p_(problem),
        boxes_(step, problem, buffers),
        kernel_maker_(step, problem, buffers),
        split_(*kernels::SplitGemm(kParts)),
        scratch_(ledger.FetchEach(workspace, s_.scratch_handle_)),
        losses_(*new (ledger.Fetch(workspace, s_.found_handle_)) split_gemm::Losses),
        serial_(s_.work_ < kSerialWork) {
    for (int worker = 0; worker < exec::ThreadCount(); ++worker) *Scratch(worker).listed = {};
  }

  bool Run(const plan::WorkspaceLedger& ledger, void* workspace) const {
    const int64_t units = s_.units(p_.geometry), chunks = s_.source_blocks();
    const auto make = [&](int64_t part, int worker, float* numbers) {
      MakeKernels(part / chunks, part % chunks, Scratch(worker), numbers + part / chunks * s_.unit_floats());
    };
    if (s_.kernels_handle_ < 0) {
      const packing::CommonNumbers::Run all_kernels(s_.kernels_of_all_, ledger, workspace, make);
      all_kernels.Begin(serial_);
      ComputeBoxes(0, units, [&](int worker) { return all_kernels.Of(worker); });
      return losses_.None();
    }
    float* some = static_cast<float*>(ledger.Fetch(workspace, s_.kernels_handle_));
    for (int64_t first = 0; first < units; first += s_.block_units_) {
      const int64_t count = std::min(s_.block_units_, units - first);
      exec::ParallelFor(count * chunks, serial_, [&](int64_t part, int worker) {
        MakeKernels(first + part / chunks, part % chunks, Scratch(worker), some + part / chunks * s_.unit_floats());
      });
      ComputeBoxes(first, first + count, [&](int) { return some; });
    }
    return losses_.None();
  }

 private:
  DataScratch Scratch(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  // A chunk of a unit's kernels, transformed as for multiply-adds, then taken apart.
  void MakeKernels(int64_t unit, int64_t chunk, const DataScratch& scratch, float* to) const {
    const int64_t panel = unit % s_.panels_.blocks(), source = chunk * kKernelChunk;
    const int64_t lanes = s_.panels_.tiles(panel, 0).lanes;
    const int64_t sources = std::min(kKernelChunk, s_.source_channels_ - source);
    kernel_maker_.Pack(unit, source, scratch, scratch.weights);
    kernel_maker_.Transform(panel, source, scratch.weights, 0, 0, t_.phases(), scratch.kernels, packing::WeightRuns());
    for (int64_t point = 0; point < t_.points(); ++point, to += s_.part_step()) {
      for (int64_t term = 0; term < t_.terms(); ++term) {
        const float* from = scratch.kernels + point * s_.kernel_step() + term * s_.kernel_channels() * lanes;
        float* block = to + BlockAt(term, chunk) * s_.part_panels() * kPartPanel;
        for (int64_t lane = 0; lane < lanes; lane += kSplitSide, block += kPartPanel) {
          const int64_t count = std::min<int64_t>(kSplitSide, lanes - lane);
          losses_.AddLanes(split_.lanes_across({from + lane, lanes, sources, count, kOneBlock}, block));
        }
      }
    }
  }

  int64_t BlockAt(int64_t term, int64_t chunk) const { return term * s_.source_blocks() + chunk; }

  // All boxes, of units [begin, end).
  template <class Kernels>
  void ComputeBoxes(int64_t begin, int64_t end, const Kernels& kernels_of) const {
    const int64_t panels = s_.panels_.blocks(), boxes = s_.boxes_.count();
    const int64_t first_group = begin / panels, groups = base::CeilDiv(end, panels) - first_group;
    exec::ParallelFor(groups * boxes, serial_, [&](int64_t index, int worker) {
      const int64_t group = first_group + index / boxes;
      const int64_t first = std::max(begin, group * panels), last = std::min(end, (group + 1) * panels);
      ComputeBox(group, s_.boxes_.At(index % boxes), {first % panels, last - first},
                 kernels_of(worker) + (first - begin) * s_.unit_floats(), Scratch(worker));
    });
  }

  struct Panels {
    int64_t first, count;
  };

  void ComputeBox(int64_t group, const Box& box, const Panels& panels, const float* kernels,
                  const DataScratch& scratch) const {
    boxes_.TransformBox(group, box, 0, s_.source_channels_, scratch, scratch.windows);
    boxes_.lists().Tiles(box, s_.panels_.tiles(panels.first, 0).lanes, scratch);
    for (int64_t point = 0; point < t_.points(); ++point) {
      MultiplyPoint(point, box, panels, kernels + point * s_.part_step(), scratch);
    }
    for (int64_t i = 0; i < panels.count; ++i) {
      const int64_t panel = panels.first + i;
      boxes_.lists().Tiles(box, s_.panels_.tiles(panel, 0).lanes, scratch);
      boxes_.TransformBack(panel, kPhase, box, {SumsOf(i, scratch), s_.sum_lanes(), s_.window_step()}, scratch);
      if (!boxes_.FinishPanel(group, panel, box, scratch)) losses_.AddNonfinite();
    }
  }

  float* SumsOf(int64_t panel, const DataScratch& scratch) const {
    return scratch.windows + panel * s_.part_panels() * kSplitSide;
  }

  // Takes apart the windows that terms meet which do not vanish, and lists which blocks of the kernels these meet.
  // Returns how many there are.
  int64_t TakeApart(int64_t point, const Box& box, const TileRange& tiles, const DataScratch& scratch) const {
    const int64_t row_panels = base::CeilDiv(tiles.count, kSplitSide), step = row_panels * kPartPanel;
    const float* windows = scratch.windows + point * s_.window_step();
    float* to = scratch.parts;
    uint32_t bits = 0;
    int64_t count = 0;
    boxes_.lists().ForTerms(box, kPhase, point, [&](int64_t term, int64_t window) {
      for (int64_t panel = 0; panel < row_panels; ++panel) {
        const int64_t first = panel * kSplitSide;
        bits |= split_.rows_at({windows + window * s_.padded_sources_, scratch.row_offsets + tiles.first + first,
                                std::min<int64_t>(kSplitSide, tiles.count - first), s_.source_channels_, step},
                               to + panel * kPartPanel);
      }
      to += s_.source_blocks() * step;
      for (int64_t chunk = 0; chunk < s_.source_blocks(); ++chunk) scratch.blocks[count++] = BlockAt(term, chunk);
    });
    losses_.AddRows(bits);
    return count;
  }

  // One point's products with all panels.
  void MultiplyPoint(int64_t point, const Box& box, const Panels& panels, const float* kernels,
                     const DataScratch& scratch) const {
    const TileRange tiles = boxes_.TilesAt(point, scratch);
    if (tiles.count == 0) return;
    const int64_t count = TakeApart(point, box, tiles, scratch), *blocks = scratch.blocks;
    kernels::SplitOperands operands{};
    operands.row_panels = base::CeilDiv(tiles.count, kSplitSide);
    operands.c_step = s_.sum_lanes();
    if (count == 0) {  // where a kernel has fewer offsets than a term
      for (int64_t tile = tiles.first; tile < tiles.first + tiles.count; ++tile) {
        float* sums = scratch.windows + point * s_.window_step() + tile * s_.sum_lanes();
        std::memset(sums, 0, static_cast<size_t>(s_.sum_lanes()) * sizeof(float));
      }
      return;
    }
    const int64_t point_sums = point * s_.window_step() + tiles.first * s_.sum_lanes();
    for (int64_t i = 0; i < panels.count; ++i) {
      operands.lane_panels = base::CeilDiv(s_.panels_.tiles(panels.first + i, 0).lanes, kSplitSide);
      operands.c = SumsOf(i, scratch) + point_sums;
      const float* unit = kernels + i * s_.unit_floats();
      for (int64_t block = 0; block < count; block += kSplitBlocks) {
        operands.blocks = std::min<int64_t>(kSplitBlocks, count - block);
        for (int64_t k = 0; k < operands.blocks; ++k) {
          operands.a[k] = scratch.parts + (block + k) * operands.row_panels * kPartPanel;
          operands.b[k] = KernelBlock(unit, blocks[block + k]);
        }
        const int64_t next = block + kSplitBlocks;
        const float* coming = next < count              ? KernelBlock(unit, blocks[next])
                              : i + 1 < panels.count    ? KernelBlock(unit + s_.unit_floats(), blocks[0])
                              : point + 1 < t_.points() ? KernelBlock(kernels + s_.part_step(), blocks[0])
                                                        : KernelBlock(kernels, blocks[0]);
        split_gemm::AskList asks(scratch.asks, operands, kParts);
        asks.Add(coming, kSplitBlocks * s_.part_panels() * kPartPanel * int64_t{sizeof(float)});
        operands.asks = asks.Filled(operands.c);
        split_.multiply(operands, block > 0);
      }
    }
  }

  const float* KernelBlock(const float* kernels, int64_t block) const {
    return kernels + block * s_.part_panels() * kPartPanel;
  }

  const DataStep& s_;
  const Tiling& t_;
  const ConvProblem& p_;
  DataBoxes boxes_;
  DataKernels kernel_maker_;
  const kernels::SplitKernels& split_;
  plan::Shares scratch_;
  split_gemm::Losses& losses_;
  bool serial_;
};

bool DataStep::RunInParts(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                          void* workspace) const {
  return SplitRun(*this, problem, buffers, ledger, workspace).Run(ledger, workspace);
}

}  // namespace canopy::conv::winograd
