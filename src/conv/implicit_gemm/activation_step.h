// SPDX-License-Identifier: Apache-2.0
// Forward and backward data: for every group and phase, a product of weights and gathered pixels,
//   result[channel][pixel] = sum over (tap, source channel) of weight[channel][tap, source channel] *
//                                                              source[source channel][pixel moved by tap].
// The weights are packed once into the workspace. Pixels are packed as they are needed, panel by panel. Either side may
// be the vector one: pixels where they lie side by side in memory, channels where those do.
#ifndef CANOPY_CONV_IMPLICIT_GEMM_ACTIVATION_STEP_H_
#define CANOPY_CONV_IMPLICIT_GEMM_ACTIVATION_STEP_H_

#include <array>
#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/grid.h"
#include "conv/implicit_gemm/blocking.h"

namespace canopy::conv::implicit_gemm {

// One phase of each axis: a dense product, the same for every group.
struct PhaseTriple {
  std::array<const AxisPhase*, 3> axes;
  int64_t pixels = 0;  // batch included
  int64_t taps = 0;
  int64_t packed_offset = 0;  // floats from the group's packed weights
  int64_t first_job = 0;      // within the group
  int64_t pixel_blocks = 0;
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
  void ChooseSides(const ConvProblem& problem);
  void LayOut(const Geometry& geometry, plan::WorkspaceLedger* ledger);

  bool forward_;
  Operand source_, result_;  // as the problem names them
  Extent3 source_size_{}, result_size_{};
  int64_t source_channels_ = 0, result_channels_ = 0;  // of a group
  int64_t weight_result_stride_ = 0, weight_source_stride_ = 0;

  std::array<std::vector<AxisPhase>, 3> axis_phases_;
  std::vector<PhaseTriple> phases_;
  bool gaps_ = false;     // results that no phase reaches
  bool padding_ = false;  // some tap reaches out of the source

  kernels::GemmTile tile_{};
  Blocking blocking_;
  bool pixels_are_lanes_ = true;
  bool channel_lines_ = false;  // pixels are packed from lines of channels
  int64_t channel_panels_ = 0, channel_blocks_ = 0;
  int64_t packed_floats_ = 0;  // a group's packed weights
  int64_t jobs_ = 0;           // of a group
  int packed_handle_ = -1, flag_handle_ = -1;
  ScratchLayout scratch_;
  double work_ = 0;
};

}  // namespace canopy::conv::implicit_gemm

#endif  // CANOPY_CONV_IMPLICIT_GEMM_ACTIVATION_STEP_H_
