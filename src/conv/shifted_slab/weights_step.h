// SPDX-License-Identifier: Apache-2.0
// Backward weights from slabs: result[ci, tap][co] = sum over positions of slab[ci][position moved by tap] *
// output[co][position]. The rows, one for every channel and tap, are read where they stand in the slab; only the
// output's channels are packed, once for all rows.
#ifndef CANOPY_CONV_SHIFTED_SLAB_WEIGHTS_STEP_H_
#define CANOPY_CONV_SHIFTED_SLAB_WEIGHTS_STEP_H_

#include <array>
#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/shifted_slab/slab.h"
#include "kernels/gemm/contract.h"

namespace canopy::conv::shifted_slab {

// One thread's working memory.
struct WeightsScratch {
  float* slab;
  float* lanes;  // one panel of the output's channels
  float* tiles;  // tile (depth tap d, row panel r, lane panel l) at ((d * row panels + r) * lane panels + l) tiles
  float* deep;   // sums of full runs of tiles
  float* lines[4];
  kernels::Segment* segments;
  int64_t* row_offsets;  // of every row of one depth tap in the slab
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

  void ChooseBlocks(const Geometry& geometry);
  void LayOut(const Geometry& geometry, plan::WorkspaceLedger* ledger);
  WeightsScratch ScratchAt(const plan::WorkspaceLedger& ledger, void* workspace, int worker) const;

  std::array<std::vector<AxisPhase>, 3> axis_phases_;  // one each
  PhaseShape shape_;
  int64_t input_channels_ = 0, output_channels_ = 0;  // of a group
  int64_t plane_taps_ = 0;                            // kernel offsets of one depth tap

  kernels::GemmTile tile_{};
  int64_t chunk_ = 1, chunks_ = 0;             // input channels of a job
  int64_t row_panels_ = 0;                     // of one depth tap in a job
  int64_t lane_panels_ = 0, lane_blocks_ = 0;  // of a job; jobs across the output's channels
  int64_t places_ = 0, segments_ = 1, segment_places_ = 0;
  int64_t tiles_floats_ = 0;  // a job's result
  int64_t slab_bytes_ = 0, lanes_bytes_ = 0, tiles_bytes_ = 0, line_bytes_ = 0, segments_bytes_ = 0, offsets_bytes_ = 0;
  int64_t scratch_bytes_ = 0;
  int partial_handle_ = -1, flag_handle_ = -1, scratch_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::shifted_slab

#endif  // CANOPY_CONV_SHIFTED_SLAB_WEIGHTS_STEP_H_
