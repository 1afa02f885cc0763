// SPDX-License-Identifier: Apache-2.0
#include "conv/shifted_slab/activation_step.h"
#include "conv/shifted_slab/weights_step.h"

namespace canopy::conv::shifted_slab {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if (computation == kBackwardWeights) return std::make_unique<WeightsStep>(problem, ledger);
  return std::make_unique<ActivationStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::shifted_slab
