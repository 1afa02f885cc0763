// SPDX-License-Identifier: Apache-2.0
#include "conv/few_tiles/data_step.h"

#include <algorithm>
#include <atomic>

#include "conv/few_tiles/estimates.h"
#include "conv/packing/scratch.h"
#include "exec/pool.h"

namespace canopy::conv::few_tiles {
namespace {

using base::CeilDiv;
using base::RoundUp;
using kernels::kFewTilesLanes;

// In units of Step::Work.
constexpr double kWorkAKernelVector = 150;  // transforming the kernels of a vector of channels
constexpr double kWorkAPoint = 1.2;         // of such, besides its products
constexpr double kWorkAProduct = 1.15;
constexpr double kWorkAStore = 1.2;

}  // namespace

DataStep::DataStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : grid_(problem.geometry.batch, problem.geometry.input_size), direct_(problem, kBackwardData, ledger) {
  ledger->StartOver();  // its time is after this step's own
  const Geometry& g = problem.geometry;
  sources_ = g.group_output_channels();
  results_ = g.group_input_channels();
  positions_ = g.batch * g.input_size[1] * g.input_size[2];
  const auto shift = [&](int axis) { return g.pad_begin[axis] - (kKernel - 1); };
  windows_ = TileNumbers::OfWindows(grid_, problem.output, g.output_size, {shift(1), shift(2)});
  for (const Tile& tile : grid_.tiles()) {
    auto& offsets = offsets_.emplace_back();
    for (int64_t e = 0; e < tile.size[0] * tile.size[1]; ++e) {
      const int64_t h = tile.first[0] + e / tile.size[1], w = tile.first[1] + e % tile.size[1];
      offsets[e] = ((tile.image * g.input_size[1] + h) * g.input_size[2] + w) * kFewTilesLanes;
    }
  }
  work_ = Estimate(problem);
  windows_handle_ = ledger->Book(
      "windows at the points", g.groups * SourceBlocks() * grid_.block_floats() * static_cast<int64_t>(sizeof(float)));
  found_handle_ = ledger->Book("non-finite results", sizeof(std::atomic<int>));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

int64_t DataStep::SourceBlocks() const { return CeilDiv(sources_, kFewTilesLanes); }
int64_t DataStep::Panels() const { return CeilDiv(results_, kFewTilesLanes); }

double DataStep::Estimate(const ConvProblem& problem) const {
  const double kernels = static_cast<double>(RoundUp(sources_, kernels::kFewTilesSources) * Panels());
  const double a_kernel =
      kWorkAKernelVector + kWorkAPoint * kernels::kSquarePoints + kWorkAProduct * static_cast<double>(grid_.products());
  const double store = kWorkAStore * static_cast<double>(positions_ * Panels() * kFewTilesLanes);
  return static_cast<double>(problem.geometry.groups) *
         (kernels * a_kernel + TransformWork(windows_, grid_, SourceBlocks()) +
          TransformWork(windows_, grid_, Panels()) + store);
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  DataScratch scratch;
  scratch.lines.lines = carver.Take<float>(packing::kLines * (packing::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(packing::kLine);
  scratch.slab = carver.Take<float>(std::max(windows_.slab_floats(), positions_ * kFewTilesLanes));
  scratch.kernels = carver.Take<float>(kernels::kFewTilesSources * kFewTilesLanes * kernels::kFewTilesTaps);
  scratch.points = carver.Take<float>(kernels::kSquarePoints * kernels::kFewTilesSources * kFewTilesLanes);
  scratch.sums = carver.Take<float>(grid_.block_floats());
  scratch.more_sums = carver.Take<float>(grid_.block_floats());
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DataStep::Describe() const {
  return std::to_string(grid_.count()) + " tiles of at most 4x4, " + std::to_string(grid_.products()) +
         " products of each kernel; panels of 16 result channels, 8 source channels at a time";
}

}  // namespace canopy::conv::few_tiles
