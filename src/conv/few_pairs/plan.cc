// SPDX-License-Identifier: Apache-2.0
#include "conv/few_pairs/step.h"

namespace canopy::conv::few_pairs {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<PairsStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::few_pairs
