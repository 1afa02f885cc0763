// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "conv/planes/data_step.h"
#include "conv/planes/weights_step.h"

namespace canopy::conv::planes {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if (computation == kBackwardWeights) return std::make_unique<WeightsStep>(problem, ledger);
  return std::make_unique<DataStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::planes
