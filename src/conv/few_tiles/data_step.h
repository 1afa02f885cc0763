// SPDX-License-Identifier: Apache-2.0
// Backward data: the windows of all output channels are transformed first. Then each job takes a panel of input
// channels, transforms the kernels of a few output channels at a time, multiplies them by the windows of all tiles, and
// in the end transforms the sums back. With a stride, every second result of an axis is of one part of the kernels.
#ifndef CANOPY_CONV_FEW_TILES_DATA_STEP_H_
#define CANOPY_CONV_FEW_TILES_DATA_STEP_H_

#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/channel_lanes/data_step.h"
#include "conv/few_tiles/tile_grid.h"
#include "conv/few_tiles/tile_numbers.h"
#include "conv/packing/common_numbers.h"

namespace canopy::conv::few_tiles {

// One thread's working memory.
struct DataScratch {
  packing::SlabScratch lines;
  float* slab;     // of windows' pixels, or [pixel][channel of a panel] of results
  float* kernels;  // [output channel][input channel of a panel][tap], where they do not serve as they are
  float* work;     // of the products
  // [part][point][tile][input channel of a panel], the latter of a chunk of output channels.
  float *sums, *more_sums;
};

class DataStep : public Step {
 public:
  DataStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class DataRun;

  // Where a tile's results stand in a slab of all of them, in floats; behind it those that do not exist.
  using ResultOffsets = std::array<int64_t, 25>;

  void Place(const Geometry& geometry, const Part& part, const TileGrid& grid);
  double Estimate(const ConvProblem& problem) const;
  DataScratch ScratchAt(char* at, int64_t* bytes) const;
  int64_t SourceBlocks() const;  // of a group
  int64_t PanelChannels() const { return vectors_ * kernels::kFewTilesLanes; }
  int64_t Panels() const { return base::CeilDiv(results_, PanelChannels()); }  // of a group's results

  int64_t sources_ = 0, results_ = 0;  // channels of a group
  int64_t vectors_ = 0;                // of a panel
  int64_t positions_ = 0;              // of the result, all images
  std::vector<TileGrid> grids_;        // of each part
  std::vector<TileNumbers> windows_;
  std::vector<std::vector<ResultOffsets>> offsets_;  // of each part's tiles
  double work_ = 0;
  packing::CommonNumbers sources_at_points_;
  channel_lanes::DataStep direct_;  // for what is not finite
  int scratch_handle_ = -1, found_handle_ = -1;
};

}  // namespace canopy::conv::few_tiles

#endif  // CANOPY_CONV_FEW_TILES_DATA_STEP_H_
