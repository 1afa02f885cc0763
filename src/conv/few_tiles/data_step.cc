// SPDX-License-Identifier: Apache-2.0
#include "conv/few_tiles/data_step.h"

#include <algorithm>
#include <atomic>

#include "conv/few_tiles/estimates.h"
#include "conv/packing/scratch.h"
#include "conv/tensor_bytes.h"
#include "exec/pool.h"

namespace canopy::conv::few_tiles {
namespace {

using base::CeilDiv;
using base::RoundUp;
using kernels::kFewTilesLanes;

// In units of Step::Work.
constexpr double kWorkAKernelVector = 280;         // transforming the kernels of a vector of channels
constexpr double kWorkAStridedKernelVector = 380;  // with a stride of 2: the sums of parts are many
constexpr double kWorkAProduct = 1.3;
constexpr double kWorkAStore = 1.2;

}  // namespace

DataStep::DataStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : direct_(problem, kBackwardData, ledger) {
  ledger->StartOver();  // its time is after this step's own
  const Geometry& g = problem.geometry;
  sources_ = g.group_output_channels();
  results_ = g.group_input_channels();
  positions_ = g.batch * g.input_size[1] * g.input_size[2];
  for (const Part& part : DataParts(g)) {
    const TileGrid& grid = grids_.emplace_back(g.batch, part);
    windows_.push_back(TileNumbers::OfWindows(grid, part, problem.output));
    Place(g, part, grid);
  }
  vectors_ = std::min<int64_t>(kernels::kMostFewTilesVectors, CeilDiv(results_, kFewTilesLanes));
  work_ = Estimate(problem);
  const int64_t blocks = g.groups * SourceBlocks();
  sources_at_points_ = packing::CommonNumbers("windows at the points", blocks, blocks * BlockFloats(grids_),
                                              static_cast<double>(blocks) * TransformWork(windows_, grids_) / work_,
                                              ledger, kMostOwnBytes);
  found_handle_ = ledger->Book("non-finite results", sizeof(std::atomic<int>));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
  work_ += WorkOfRoom(problem, kBackwardData, blocks * BlockFloats(grids_) * int64_t{sizeof(float)} + scratch_bytes);
}

void DataStep::Place(const Geometry& g, const Part& part, const TileGrid& grid) {
  std::vector<ResultOffsets>& placed = offsets_.emplace_back();
  for (const Tile& tile : grid.tiles()) {
    ResultOffsets& offsets = placed.emplace_back();
    for (int64_t e = 0; e < tile.size[0] * tile.size[1]; ++e) {
      const int64_t h = tile.first[0] + e / tile.size[1], w = tile.first[1] + e % tile.size[1];
      const bool exists = h < part[0].positions && w < part[1].positions;
      const int64_t row = tile.image * g.input_size[1] + part[0].first + h * part[0].step;
      offsets[e] = (exists ? row * g.input_size[2] + part[1].first + w * part[1].step : positions_) * kFewTilesLanes;
    }
  }
}

int64_t DataStep::SourceBlocks() const { return CeilDiv(sources_, kFewTilesLanes); }

double DataStep::Estimate(const ConvProblem& problem) const {
  const int64_t blocks = CeilDiv(results_, kFewTilesLanes);
  const bool strided = grids_.size() > 1;
  const double a_kernel = (strided ? kWorkAStridedKernelVector : kWorkAKernelVector) +
                          kWorkAProduct * static_cast<double>(Products(grids_));
  const double kernels = a_kernel * static_cast<double>(RoundUp(sources_, kernels::kFewTilesSources) * blocks);
  const double transforms = TransformWork(windows_, grids_) * static_cast<double>(SourceBlocks() + blocks);
  const double store = kWorkAStore * static_cast<double>(positions_ * blocks * kFewTilesLanes);
  return static_cast<double>(problem.geometry.groups) * (kernels + transforms + store);
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  DataScratch scratch;
  scratch.lines.lines = carver.Take<float>(packing::kLines * (packing::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(packing::kLine);
  int64_t slab = (positions_ + 1) * kFewTilesLanes;
  for (const TileNumbers& windows : windows_) slab = std::max(slab, windows.slab_floats());
  scratch.slab = carver.Take<float>(slab);
  scratch.kernels = carver.Take<float>(kernels::kFewTilesSources * PanelChannels() * kernels::kFewTilesTaps);
  scratch.work = carver.Take<float>(kernels::FewTilesWork(vectors_));
  scratch.sums = carver.Take<float>(BlockFloats(grids_) * vectors_);
  scratch.more_sums = carver.Take<float>(BlockFloats(grids_) * vectors_);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DataStep::Describe() const {
  return std::to_string(grids_.front().count()) + " tiles of " + (grids_.size() > 1 ? "the largest of 4 parts, " : "") +
         std::to_string(Products(grids_)) + " products of each kernel; panels of " + std::to_string(PanelChannels()) +
         " result channels, " + std::to_string(kernels::kFewTilesSources) + " source channels at a time";
}

}  // namespace canopy::conv::few_tiles
