// SPDX-License-Identifier: Apache-2.0
#include "conv/columns/data_step.h"
#include "conv/columns/forward_step.h"
#include "conv/columns/weights_step.h"

namespace canopy::conv::columns {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if (computation == kForward) return std::make_unique<ForwardStep>(problem, ledger);
  if (computation == kBackwardData) return std::make_unique<DataStep>(problem, ledger);
  return std::make_unique<WeightsStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::columns
