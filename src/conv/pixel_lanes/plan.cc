// SPDX-License-Identifier: Apache-2.0
#include "conv/pixel_lanes/data_step.h"
#include "conv/pixel_lanes/weights_step.h"

namespace canopy::conv::pixel_lanes {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if (computation & kBackwardWeights) return std::make_unique<WeightsStep>(problem, computation, ledger);
  return std::make_unique<DataStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::pixel_lanes
