// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "conv/few_tiles/asks.h"
#include "conv/few_tiles/data_step.h"
#include "conv/few_tiles/estimates.h"
#include "conv/packing/store.h"
#include "exec/pool.h"

namespace canopy::conv::few_tiles {
namespace {

using kernels::kFewTilesSources;
using kernels::kFewTilesTaps;

// Source channels that are summed up before such sums are: transforms back enlarge the errors of long ones.
constexpr int64_t kTerms = 256;

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
          void* workspace)
      : s_(step),
        p_(problem),
        scratch_(ledger.FetchEach(workspace, s_.scratch_handle_)),
        nonfinite_(new (ledger.Fetch(workspace, s_.found_handle_)) std::atomic<int>(0)),
        source_(buffers.output, p_.output.dtype, p_.rule),
        weight_(buffers.weight, p_.weight.dtype, p_.rule),
        result_(buffers.input_result, p_.input_result.dtype, p_.rule.saturate) {}

  // Whether every result is finite.
  bool Run(const plan::WorkspaceLedger& ledger, void* workspace) const {
    const int64_t blocks = s_.SourceBlocks(), panels = s_.Panels(), jobs = p_.geometry.groups * panels;
    const bool serial = IsSerial(s_.work_, jobs);
    const auto make = [&](int64_t index, int worker, float* numbers) {
      const DataScratch scratch = Scratch(worker);
      MakeBlock(s_.windows_, s_.grids_, source_, {index / blocks, s_.sources_, index % blocks}, scratch.lines,
                scratch.slab, numbers + index * BlockFloats(s_.grids_));
    };
    const packing::CommonNumbers::Run windows(s_.sources_at_points_, ledger, workspace, make);
    windows.Begin(serial);
    exec::ParallelFor(jobs, serial, [&](int64_t index, int worker) {
      const int64_t first = index % panels * s_.PanelChannels();
      const Panel panel{index / panels, first, std::min(s_.PanelChannels(), s_.results_ - first)};
      const DataScratch scratch = Scratch(worker);
      Multiply(panel, windows.Of(worker), scratch);
      for (int64_t v = 0; v < panel.vectors(); ++v) {
        TransformBack(panel, v, scratch);
        Store(panel, v, scratch);
      }
    });
    return nonfinite_->load(std::memory_order_relaxed) == 0;
  }

 private:
  static constexpr int64_t kLanes = kernels::kFewTilesLanes;

  DataScratch Scratch(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  // Of result channels of a group.
  struct Panel {
    int64_t group, first, channels;

    int64_t vectors() const { return base::CeilDiv(channels, kLanes); }
  };

  void Multiply(const Panel& panel, const float* all_windows, const DataScratch& scratch) const {
    const int64_t vectors = panel.vectors(), step = p_.weight.strides[0];
    const int64_t offset = panel.group * s_.sources_ * step + panel.first * kFewTilesTaps;
    const int64_t block = BlockFloats(s_.grids_), stride = p_.geometry.stride[1];
    for (int64_t c = 0; c < s_.sources_; c += kFewTilesSources) {
      const int64_t coming = c + kFewTilesSources, sources = std::min(s_.sources_, coming) - c;
      const bool whole = panel.channels == vectors * kLanes && sources == kFewTilesSources;
      const float* direct = whole ? weight_.Direct(offset + c * step, 1) : nullptr;
      if (direct == nullptr) CopyKernels(panel, offset + c * step, sources, scratch.kernels);
      static_assert(kFewTilesSources == kLanes, "a block of windows");
      const float* windows = all_windows + (panel.group * s_.SourceBlocks() + c / kLanes) * block;
      float* sums = c < kTerms ? scratch.sums : scratch.more_sums;
      kernels::FewTilesSums parts[kernels::kMostFewTilesParts];
      for (size_t part = 0; part < s_.grids_.size(); ++part) {
        const TileGrid& grid = s_.grids_[part];
        parts[part] = {{windows, grid.point_step()}, &grid.points(), sums, grid.point_step() * vectors};
        windows += grid.block_floats();
        sums += grid.block_floats() * vectors;
      }
      kernels::FewTiles()[vectors].add_products[stride](
          direct != nullptr ? direct : scratch.kernels, direct != nullptr ? step : vectors * kernels::kFewTilesKernels,
          parts, c % kTerms > 0,
          AskFor(weight_, p_.weight, coming < s_.sources_ ? offset + coming * step : -1, vectors), scratch.work);
      if (c < kTerms || (coming < s_.sources_ && coming % kTerms > 0)) continue;
      kernels::Lines().add(scratch.more_sums, block * vectors, scratch.sums);
    }
  }

  // Zeros for those that do not exist.
  void CopyKernels(const Panel& panel, int64_t offset, int64_t sources, float* to) const {
    const int64_t row = panel.vectors() * kernels::kFewTilesKernels;
    std::fill(to, to + kFewTilesSources * row, 0.0f);
    weight_.CopyRows(offset, p_.weight.strides[0], sources, panel.channels * kFewTilesTaps, to, row);
  }

  // The results of a vector of the panel.
  void TransformBack(const Panel& panel, int64_t vector, const DataScratch& scratch) const {
    const int64_t tile_floats = panel.vectors() * kLanes;
    const float* sums = scratch.sums + vector * kLanes;
    for (size_t part = 0; part < s_.grids_.size(); ++part) {
      const TileGrid& grid = s_.grids_[part];
      for (int64_t t = 0; t < grid.count(); ++t) {
        const int64_t* offsets = s_.offsets_[part][t].data();
        const kernels::WinogradOutFn transform = ResultOf(grid, grid.tiles()[t]);
        if (transform != nullptr) {
          transform(sums + t * tile_floats, grid.point_step() * panel.vectors(), kLanes, scratch.slab, offsets);
        } else {
          std::memcpy(scratch.slab + offsets[0], sums + t * tile_floats, kLanes * sizeof(float));
        }
      }
      sums += grid.block_floats() * panel.vectors();
    }
  }

  // nullptr: the sum at its one point is its result.
  static kernels::WinogradOutFn ResultOf(const TileGrid& grid, const Tile& tile) {
    auto [rows, columns] = tile.size;
    if (grid.transformed(0) && grid.transformed(1)) return kernels::Winograd(2).results[grid.taps()][rows][columns];
    if (grid.taps() == 1) return nullptr;
    return kernels::Winograd(1).results[grid.taps()][1][rows * columns];
  }

  void Store(const Panel& panel, int64_t vector, const DataScratch& scratch) const {
    const int64_t first = panel.group * s_.results_ + panel.first + vector * kLanes;
    if (kernels::Lines().any_nonfinite(scratch.slab, s_.positions_ * kLanes)) {
      nonfinite_->store(1, std::memory_order_relaxed);
    }
    const Geometry& g = p_.geometry;
    const auto& strides = p_.input_result.strides;
    int64_t rows = g.input_size[1], row = g.input_size[2];
    // Whole rows that follow one another in memory are one line.
    if (strides[3] == row * strides[4]) {
      row *= rows;
      rows = 1;
    }
    const packing::StoreShape shape{std::min(kLanes, panel.channels - vector * kLanes), row, kLanes, strides[1],
                                    strides[4]};
    const float* from = scratch.slab;
    for (int64_t n = 0; n < g.batch; ++n) {
      for (int64_t h = 0; h < rows; ++h, from += row * kLanes) {
        const int64_t offset = n * strides[0] + first * strides[1] + h * strides[3];
        packing::StoreLines(result_, offset, shape, scratch.lines, from);
      }
    }
  }

  const DataStep& s_;
  const ConvProblem& p_;
  plan::Shares scratch_;
  std::atomic<int>* nonfinite_;
  LineReader source_, weight_;
  LineWriter result_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  const DataRun run(*this, problem, buffers, ledger, workspace);
  if (!run.Run(ledger, workspace)) direct_.Run(problem, buffers, ledger, workspace);
}

}  // namespace canopy::conv::few_tiles
