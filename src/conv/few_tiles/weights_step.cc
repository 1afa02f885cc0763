// SPDX-License-Identifier: Apache-2.0
#include "conv/few_tiles/weights_step.h"

#include <algorithm>
#include <atomic>

#include "conv/few_tiles/estimates.h"
#include "conv/packing/scratch.h"
#include "conv/streams.h"
#include "conv/tensor_bytes.h"
#include "exec/pool.h"

namespace canopy::conv::few_tiles {
namespace {

using base::CeilDiv;
using base::RoundUp;
using kernels::kFewTilesLanes;

constexpr int64_t kLeastOutputsAJob = 128, kFewestOutputsAJob = 32, kJobsAThread = 4;

// In units of Step::Work.
constexpr double kWorkAGradientVector = 290;  // transforming the gradients of a vector of channels back
constexpr double kWorkAProduct = 1.25;

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger) : direct_(problem, ledger) {
  ledger->StartOver();  // its time is after this step's own
  const Geometry& g = problem.geometry;
  inputs_ = g.group_input_channels();
  outputs_ = g.group_output_channels();
  for (const Part& part : WeightsParts(g)) {
    const TileGrid& grid = grids_.emplace_back(g.batch, part);
    windows_.push_back(TileNumbers::OfWindows(grid, part, problem.input));
    tiles_.push_back(TileNumbers::OfTiles(grid, part, problem.output));
  }
  vectors_ = std::min<int64_t>(kernels::kMostFewTilesVectors, CeilDiv(inputs_, kFewTilesLanes));
  outputs_a_job_ = OutputsAJob(g.groups);
  streams_ = problem.weight_result.dtype == numerics::DType::kFloat32 && WeightsOutgrowCaches(problem);
  work_ = Estimate(problem);
  const int64_t blocks = g.groups * OutputBlocks();
  outputs_at_points_ = packing::CommonNumbers("tiles at the points", blocks, blocks * BlockFloats(grids_),
                                              static_cast<double>(blocks) * TransformWork(tiles_, grids_) / work_,
                                              ledger, kMostOwnBytes);
  found_handle_ = ledger->Book("non-finite results", sizeof(std::atomic<int>));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
  work_ += WorkOfRoom(problem, kBackwardWeights, blocks * BlockFloats(grids_) * int64_t{sizeof(float)} + scratch_bytes);
}

// Changes no sum. Each job transforms its panel's windows again.
int64_t WeightsStep::OutputsAJob(int64_t groups) const {
  const int64_t threads = exec::ThreadCount(), panels = groups * Panels();
  const int64_t least = panels < threads ? kFewestOutputsAJob : kLeastOutputsAJob;
  const int64_t most =
      base::CeilDiv(outputs_, base::CeilDiv(panels < threads ? threads : kJobsAThread * threads, panels));
  return std::max(least, base::RoundUp(most, kFewTilesLanes));
}

double WeightsStep::Estimate(const ConvProblem& problem) const {
  const int64_t blocks = CeilDiv(inputs_, kFewTilesLanes);
  const double a_kernel = kWorkAGradientVector + kWorkAProduct * static_cast<double>(Products(grids_));
  const double kernels = a_kernel * static_cast<double>(RoundUp(outputs_, kernels::kFewTilesOutputs) * blocks);
  const double transforms = TransformWork(windows_, grids_) * static_cast<double>(blocks) +
                            TransformWork(tiles_, grids_) * static_cast<double>(OutputBlocks());
  return static_cast<double>(problem.geometry.groups) * (kernels + transforms);
}

WeightsScratch WeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  WeightsScratch scratch;
  int64_t slab = 0;
  for (const TileNumbers& windows : windows_) slab = std::max(slab, windows.slab_floats());
  for (const TileNumbers& tiles : tiles_) slab = std::max(slab, tiles.slab_floats());
  scratch.lines.lines = carver.Take<float>(packing::kLines * (packing::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(packing::kLine);
  scratch.slab = carver.Take<float>(slab);
  scratch.windows = carver.Take<float>(vectors_ * BlockFloats(grids_));
  scratch.gradients = carver.Take<float>(kernels::kFewTilesOutputs * PanelChannels() * kernels::kFewTilesTaps);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  return std::to_string(grids_.front().count()) + " tiles of " + (grids_.size() > 1 ? "the largest of 4 parts, " : "") +
         std::to_string(Products(grids_)) + " products of each kernel; panels of " + std::to_string(PanelChannels()) +
         " input channels, " + std::to_string(kernels::kFewTilesOutputs) + " output channels at a time" +
         (streams_ ? ", results past the caches" : "");
}

}  // namespace canopy::conv::few_tiles
