// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/data_step.h"
#include "conv/winograd/weights_step.h"

namespace canopy::conv::winograd {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if ((computation & kBackwardWeights) != 0) return std::make_unique<WeightsStep>(problem, computation, ledger);
  return std::make_unique<DataStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::winograd
