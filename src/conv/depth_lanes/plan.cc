// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "conv/depth_lanes/step.h"

namespace canopy::conv::depth_lanes {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<DepthStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::depth_lanes
