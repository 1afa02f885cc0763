// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "conv/joint_planes/step.h"
#include "conv/sheets/depth.h"

namespace canopy::conv::joint_planes {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<JointStep>(sheets::DepthAsHeight(problem), computation, ledger);
}

}  // namespace canopy::conv::joint_planes
