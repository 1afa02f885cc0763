// SPDX-License-Identifier: Apache-2.0
// Backward weights: the tiles of all output channels are transformed first. Then each job takes a panel of input
// channels, whose windows it transforms, and a block of output channels, and for a few output channels at a time sums
// up what their kernels' gradients are at the points, over all tiles, transforms that back and writes it. With a
// stride, each part of the kernels has windows and tiles of its own.
#ifndef CANOPY_CONV_FEW_TILES_WEIGHTS_STEP_H_
#define CANOPY_CONV_FEW_TILES_WEIGHTS_STEP_H_

#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/channel_lanes/weights_step.h"
#include "conv/few_tiles/tile_grid.h"
#include "conv/few_tiles/tile_numbers.h"
#include "conv/packing/common_numbers.h"

namespace canopy::conv::few_tiles {

// One thread's working memory.
struct WeightsScratch {
  packing::SlabScratch lines;
  float* slab;
  float* windows;    // of a panel of input channels
  float* gradients;  // [output channel][input channel of a panel][tap], where they are not written as they are
};

class WeightsStep : public Step {
 public:
  WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class WeightsRun;

  double Estimate(const ConvProblem& problem) const;
  WeightsScratch ScratchAt(char* at, int64_t* bytes) const;
  int64_t PanelChannels() const { return vectors_ * kernels::kFewTilesLanes; }
  int64_t Panels() const { return base::CeilDiv(inputs_, PanelChannels()); }  // of a group
  int64_t OutputBlocks() const { return base::CeilDiv(outputs_, int64_t{kernels::kFewTilesLanes}); }

  // Input channels of a panel stay for so many output channels.
  int64_t OutputsAJob(int64_t groups) const;

  int64_t inputs_ = 0, outputs_ = 0;  // channels of a group
  int64_t vectors_ = 0;               // of a panel
  int64_t outputs_a_job_ = 0;
  bool streams_ = false;         // results are written past the caches where they are whole lines
  std::vector<TileGrid> grids_;  // of each part
  std::vector<TileNumbers> windows_, tiles_;
  double work_ = 0;
  packing::CommonNumbers outputs_at_points_;
  channel_lanes::WeightsStep direct_;  // for what is not finite
  int scratch_handle_ = -1, found_handle_ = -1;
};

}  // namespace canopy::conv::few_tiles

#endif  // CANOPY_CONV_FEW_TILES_WEIGHTS_STEP_H_
