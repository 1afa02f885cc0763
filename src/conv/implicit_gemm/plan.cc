// SPDX-License-Identifier: Apache-2.0
#include "conv/implicit_gemm/activation_step.h"
#include "conv/implicit_gemm/weights_step.h"

namespace canopy::conv::implicit_gemm {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if (computation == kBackwardWeights) return std::make_unique<WeightsStep>(problem, ledger);
  return std::make_unique<ActivationStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::implicit_gemm
