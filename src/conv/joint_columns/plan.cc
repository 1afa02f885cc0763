// SPDX-License-Identifier: Apache-2.0
#include "conv/joint_columns/step.h"

namespace canopy::conv::joint_columns {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<JointStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::joint_columns
