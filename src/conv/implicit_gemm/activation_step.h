// SPDX-License-Identifier: Apache-2.0
// Forward and backward data as conv/activation_product.h has them. The weights are packed once into the workspace.
// Pixels are packed as they are needed, panel by panel. Either side may be the vector one: pixels where they lie side
// by side in memory, channels where those do.
#ifndef CANOPY_CONV_IMPLICIT_GEMM_ACTIVATION_STEP_H_
#define CANOPY_CONV_IMPLICIT_GEMM_ACTIVATION_STEP_H_

#include <string>
#include <vector>

#include "conv/activation_product.h"
#include "conv/algorithm.h"
#include "conv/implicit_gemm/blocking.h"

namespace canopy::conv::implicit_gemm {

struct PackedPhase : PhaseTriple {
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

  void ChooseSides();
  void LayOut(const Geometry& geometry, plan::WorkspaceLedger* ledger);

  ActivationProduct product_;
  std::vector<PackedPhase> phases_;

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
