// SPDX-License-Identifier: Apache-2.0
// Forward and backward data: for every class of positions that meet the same taps,
//   result[position][channel] = sum over (tap, source channel) of slab[position's pixel under tap][source channel] *
//                                                                 weight[tap, source channel][channel].
// A job computes a box of positions for a block of result channels, chunk by chunk of source channels. It makes its
// slab itself, and packs its weights, small enough to stay in the L2, unless they are so few that they were packed for
// all jobs before. Groups of few channels share a job. With BF16 dot products a term of the sum is a pair of source
// channels.
#ifndef CANOPY_CONV_CHANNEL_LANES_DATA_STEP_H_
#define CANOPY_CONV_CHANNEL_LANES_DATA_STEP_H_

#include <array>
#include <string>
#include <vector>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/channel_lanes/reach.h"
#include "conv/packing/axis_classes.h"
#include "conv/packing/boxes.h"
#include "conv/packing/cache_sets.h"
#include "conv/packing/common_numbers.h"
#include "conv/packing/lane_panels.h"
#include "conv/packing/slab.h"
#include "conv/packing/weight_panels.h"

namespace canopy::conv::channel_lanes {

// One thread's working memory.
struct DataScratch {
  const float* packed = nullptr;  // weights of all jobs, where they are packed once
  float* slab;
  float* weights;  // of a panel and a chunk of each group, while they are packed
  float* tiles;    // [position][channel of the block]
  float* bias;
  packing::SlabScratch lines;
  int64_t* weight_offsets;
  int64_t* row_offsets;     // of every class's positions, in the order of classes
  int64_t* result_offsets;  // likewise
  kernels::GatherRun* runs;
};

class DataStep : public Step {
 public:
  DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class DataRun;

  // How the work is cut, and what that costs.
  struct Cut {
    packing::Boxes boxes;
    packing::LanePanels panels;
    bool one_matrix = false;   // a job's weights, all groups and source channels, are one, of taps by the rest
    int64_t groups = 1;        // of a job: several where one has few channels
    int64_t tile_lanes = 0;    // of a position, all groups
    int64_t slab_pixels = 0;   // of the largest
    int64_t places = 0;        // of its positions in lists of classes
    bool packed_once = false;  // weights, for all jobs
    double work = 0;
  };

  double TimeOf(const Cut& cut, const Geometry& geometry) const;
  Cut MakeCut(const Geometry& geometry, int64_t most_positions, const packing::LanePanels& panels,
              const packing::Extent4& known) const;
  static int64_t Jobs(const Cut& cut, const Geometry& geometry) {
    return base::CeilDiv(geometry.groups, cut.groups) * cut.boxes.count() * cut.panels.blocks();
  }
  int64_t GroupsTogether(const packing::LanePanels& panels, int64_t groups) const;
  void ChooseClasses(const Geometry& geometry);
  void ChooseCut(const Geometry& geometry);
  // Whether a job loads all source channels at once, of one image and group.
  bool IsOneSlab(const Cut& cut) const {
    return chunk_ == source_channels_ && cut.groups == 1 && cut.boxes.extent()[0] == 1;
  }
  int64_t Terms(int64_t channels) const { return dot_rate_ > 0 ? base::CeilDiv(channels, int64_t{2}) : channels; }
  // Of weights that are packed once: a panel, and how many panels a group has.
  int64_t PanelFloats() const { return weight_.taps * Terms(source_channels_) * cut_.panels.panel_lanes(); }
  // Behind each tap of packed weights; there is none between those of several panels.
  int64_t TapGap(int64_t tap_floats) const {
    const bool alone = cut_.groups == 1 && !cut_.one_matrix && !cut_.packed_once;
    return alone ? packing::GapBehindRows(weight_.taps, tap_floats) : 0;
  }
  int64_t AllPanels() const { return base::CeilDiv(result_channels_, cut_.panels.panel_lanes()); }
  DataScratch ScratchAt(char* at, int64_t* bytes) const;

  bool forward_;
  Operand source_, result_;
  double dot_rate_ = 0;                                // 0: FP32 multiply-adds
  bool matrix_unit_ = false;                           // by which dot products are made
  int64_t panels_a_call_ = 1;                          // of positions
  int64_t source_channels_ = 0, result_channels_ = 0;  // of a group
  packing::WeightView weight_;
  AxesClasses classes_;
  bool by_taps_ = false;  // of the last axis
  double products_ = 0;   // of two channels, as tiles compute them
  std::array<int64_t, 3> load_step_{};
  int64_t chunk_ = 1;  // source channels of a slab
  Cut cut_;
  bool asks_ = false;               // for the memory that results are stored to
  packing::CommonNumbers weights_;  // where they are packed once
  int scratch_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::channel_lanes

#endif  // CANOPY_CONV_CHANNEL_LANES_DATA_STEP_H_
