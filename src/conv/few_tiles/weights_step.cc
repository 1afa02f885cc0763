// SPDX-License-Identifier: Apache-2.0
#include "conv/few_tiles/weights_step.h"

#include <algorithm>
#include <atomic>

#include "conv/few_tiles/estimates.h"
#include "conv/packing/scratch.h"
#include "exec/pool.h"

namespace canopy::conv::few_tiles {
namespace {

using base::RoundUp;
using kernels::kFewTilesLanes;

// In units of Step::Work.
constexpr double kWorkAGradientVector = 130;  // transforming the gradients of a vector of channels back
constexpr double kWorkAProduct = 1.4;

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : grid_(problem.geometry.batch, problem.geometry.output_size), direct_(problem, ledger) {
  ledger->StartOver();  // its time is after this step's own
  const Geometry& g = problem.geometry;
  inputs_ = g.group_input_channels();
  outputs_ = g.group_output_channels();
  windows_ = TileNumbers::OfWindows(grid_, problem.input, g.input_size, {-g.pad_begin[1], -g.pad_begin[2]});
  tiles_ = TileNumbers::OfTiles(grid_, problem.output, g.output_size);
  work_ = Estimate(problem);
  const int64_t block_bytes = g.groups * grid_.block_floats() * static_cast<int64_t>(sizeof(float));
  windows_handle_ = ledger->Book("windows at the points", InputBlocks() * block_bytes);
  tiles_handle_ = ledger->Book("tiles at the points", OutputBlocks() * block_bytes);
  found_handle_ = ledger->Book("non-finite results", sizeof(std::atomic<int>));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

double WeightsStep::Estimate(const ConvProblem& problem) const {
  const double kernels = static_cast<double>(RoundUp(outputs_, kernels::kFewTilesOutputs) * InputBlocks());
  const double a_kernel = kWorkAGradientVector + kWorkAProduct * static_cast<double>(grid_.products());
  return static_cast<double>(problem.geometry.groups) *
         (kernels * a_kernel + TransformWork(windows_, grid_, InputBlocks()) +
          TransformWork(tiles_, grid_, OutputBlocks()));
}

WeightsScratch WeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  WeightsScratch scratch;
  scratch.lines.lines = carver.Take<float>(packing::kLines * (packing::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(packing::kLine);
  scratch.slab = carver.Take<float>(std::max(windows_.slab_floats(), tiles_.slab_floats()));
  scratch.gradients = carver.Take<float>(kernels::kFewTilesOutputs * kFewTilesLanes * kernels::kFewTilesTaps);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  return std::to_string(grid_.count()) + " tiles of at most 4x4, " + std::to_string(grid_.products()) +
         " products of each kernel; panels of 16 input channels, 4 output channels at a time";
}

}  // namespace canopy::conv::few_tiles
