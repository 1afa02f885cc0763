// SPDX-License-Identifier: Apache-2.0
#include "conv/weight_lanes/data_step.h"
#include "conv/weight_lanes/forward_step.h"
#include "conv/weight_lanes/weights_step.h"

namespace canopy::conv::weight_lanes {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if (computation == kBackwardWeights) return std::make_unique<WeightsStep>(problem, ledger);
  if (computation == kForward) return std::make_unique<ForwardStep>(problem, ledger);
  return std::make_unique<DataStep>(problem, ledger);
}

}  // namespace canopy::conv::weight_lanes
