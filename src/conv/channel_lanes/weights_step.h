// SPDX-License-Identifier: Apache-2.0
// Backward weights: result[input channel, tap][output channel] = sum over output positions of
//   input slab[position's pixel under tap][input channel] * output slab[position][output channel],
// over just those positions whose pixel exists. The channels of one tensor are the rows of the product, those of the
// other, with which fewer vectors are multiplied, the lanes. A job computes all taps of a chunk of row channels for a
// block of lane channels over a segment of the boxes; segments, whose number depends on the problem only, are added in
// order. Groups of few channels share a job, whose slabs hold the channels of all side by side.
// With BF16 dot products a term of the sum is a position of two images, and what the plan calls images is pairs of
// them.
#ifndef CANOPY_CONV_CHANNEL_LANES_WEIGHTS_STEP_H_
#define CANOPY_CONV_CHANNEL_LANES_WEIGHTS_STEP_H_

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/channel_lanes/reach.h"
#include "conv/packing/axis_classes.h"
#include "conv/packing/boxes.h"
#include "conv/packing/lane_panels.h"
#include "conv/packing/slab.h"

namespace canopy::conv::channel_lanes {

// Along one axis, the positions [low, high) of a box whose pixel under a kernel offset exists, and the first's in the
// slab.
struct TapRange {
  int64_t low, high, index = 0;
};

// One thread's working memory.
struct WeightsScratch {
  float* rows;   // a slab
  float* lanes;  // a slab in panels
  float* sums;   // [row channel][tap][lane channel]
  float* tiles;  // where sums have two levels, those of a run of boxes, likewise
  packing::SlabScratch lines;
  int64_t* result_offsets;
  kernels::GatherRun* runs;
  TapRange* ranges;  // of each axis and kernel offset
};

class WeightsStep : public Step {
 public:
  WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return cut_.work; }

 private:
  friend class WeightsRun;

  // How the work is cut, and what that costs.
  struct Cut {
    packing::Boxes boxes;
    packing::LanePanels panels;
    int64_t chunk = 1, chunks = 0;  // row channels of a job, of each group
    int64_t groups = 1;             // of a job: several where one has few channels
    int64_t slab_pixels = 0;        // of the largest input slab
    int64_t segments = 1, segment_boxes = 0;
    double work = 0;

    int64_t jobs(int64_t all_groups) const { return base::CeilDiv(all_groups, groups) * chunks * panels.blocks(); }
  };

  static constexpr int64_t kBoxesASum = 32;  // boxes whose sums are added up before a further level is opened

  int64_t ChunkOf(int64_t most_channels) const;
  Cut MakeCut(const Geometry& geometry, const packing::Boxes& boxes, const Reach& reach,
              const packing::LanePanels& panels, int64_t chunk) const;
  bool Fits(const Cut& cut) const;
  void ChooseLanes(const Geometry& geometry);
  void ChooseCut(const Geometry& geometry);
  // Calls visit(cut) with those of such boxes.
  template <class Visit>
  void ForCuts(const Geometry& geometry, const packing::Boxes& boxes, const Visit& visit) const;
  void ShareOut(const Geometry& geometry);
  void ChooseSegments(const Geometry& geometry, Cut* cut) const;
  // From pixel to pixel of the slabs; of that of lanes, in a panel.
  int64_t row_panel(const Cut& cut) const { return cut.groups * cut.chunk; }
  int64_t lane_panel(const Cut& cut) const {
    return cut.groups > 1 ? cut.groups * lane_channels_ : cut.panels.panel_lanes();
  }
  int64_t row_floats(const Cut& cut) const {
    return row_panel(cut) * (turned_ ? cut.boxes.positions() : cut.slab_pixels);
  }
  // What tiles read behind the last group's channels is there too.
  int64_t lane_floats(const Cut& cut) const {
    return std::max(cut.panels.block_lanes(), lane_panel(cut)) * (turned_ ? cut.slab_pixels : cut.boxes.positions()) +
           (cut.groups > 1 ? cut.panels.panel_lanes() : 0);
  }
  static bool Deep(const Cut& cut) { return cut.segment_boxes > kBoxesASum; }
  int64_t group_floats(const Cut& cut) const { return cut.chunk * taps_ * cut.panels.block_lanes(); }
  int64_t tiles_floats(const Cut& cut) const { return cut.groups * group_floats(cut); }
  int64_t GroupsTogether(const packing::LanePanels& panels, int64_t groups, int64_t jobs) const;
  WeightsScratch ScratchAt(char* at, int64_t* bytes) const;

  double dot_rate_ = 0;                           // 0: FP32 multiply-adds
  double slab_elem_ = 0;                          // work of one
  bool turned_ = false;                           // output channels are the rows, input channels the lanes
  int64_t row_channels_ = 0, lane_channels_ = 0;  // of a group
  int64_t most_partial_bytes_ = 0;
  int64_t taps_ = 1, axis_taps_ = 0;                        // the latter summed up over axes
  std::array<std::vector<packing::AxisClass>, 3> classes_;  // of the output
  std::array<int64_t, 3> load_step_{}, stride_{};           // of the input; slab indices from position to position
  Cut cut_;
  int scratch_handle_ = -1, partial_handle_ = -1;
};

}  // namespace canopy::conv::channel_lanes

#endif  // CANOPY_CONV_CHANNEL_LANES_WEIGHTS_STEP_H_
