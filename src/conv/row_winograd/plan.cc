// SPDX-License-Identifier: Apache-2.0
#include "conv/row_winograd/data_step.h"
#include "conv/row_winograd/weights_step.h"

namespace canopy::conv::row_winograd {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if (computation & kBackwardWeights) return std::make_unique<WeightsStep>(problem, computation, ledger);
  return std::make_unique<DataStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::row_winograd
