// SPDX-License-Identifier: Apache-2.0
// Forward and backward data through slabs: the same products as implicit_gemm's, whose pixels lie side by side.
#ifndef CANOPY_CONV_SHIFTED_SLAB_ACTIVATION_STEP_H_
#define CANOPY_CONV_SHIFTED_SLAB_ACTIVATION_STEP_H_

#include <array>
#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/shifted_slab/slab.h"
#include "kernels/gemm/contract.h"

namespace canopy::conv::shifted_slab {

// One thread's working memory.
struct ActivationScratch {
  float* slab;
  float* tiles;  // tile (lane panel l, row panel r) at tiles + (l * row panels + r) * tile.rows * tile.lanes
  float* lines[4];
  kernels::Segment* segments;
  kernels::GemmTap* taps;
};

class ActivationStep : public Step {
 public:
  ActivationStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class ActivationRun;

  void MakePhases(const Geometry& geometry);
  void CutPhases(const Geometry& geometry);
  void LayOut(const Geometry& geometry, plan::WorkspaceLedger* ledger);
  double JobWork(const PhaseShape& phase) const;
  ActivationScratch ScratchAt(const plan::WorkspaceLedger& ledger, void* workspace, int worker) const;

  bool forward_;
  Operand source_, result_;
  Extent3 source_size_{}, result_size_{};
  int64_t source_channels_ = 0, result_channels_ = 0;  // of a group
  int64_t weight_result_stride_ = 0, weight_source_stride_ = 0;

  std::array<std::vector<AxisPhase>, 3> axis_phases_;
  std::vector<PhaseShape> phases_;
  bool gaps_ = false;

  kernels::GemmTile tile_{};
  int64_t row_panels_ = 0, block_panels_ = 0,
          row_blocks_ = 0;     // of result channels; in a job; jobs of one position set
  int64_t chunk_ = 1;          // source channels of a slab
  int64_t packed_floats_ = 0;  // a group's packed weights
  int64_t jobs_ = 0;           // of a group
  int64_t slab_bytes_ = 0, tiles_bytes_ = 0, line_bytes_ = 0, segments_bytes_ = 0, taps_bytes_ = 0;
  int packed_handle_ = -1, flag_handle_ = -1, scratch_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::shifted_slab

#endif  // CANOPY_CONV_SHIFTED_SLAB_ACTIVATION_STEP_H_
