// SPDX-License-Identifier: Apache-2.0
#include "conv/few_tiles/data_step.h"
#include "conv/few_tiles/weights_step.h"

namespace canopy::conv::few_tiles {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if (computation == kBackwardWeights) return std::make_unique<WeightsStep>(problem, ledger);
  return std::make_unique<DataStep>(problem, ledger);
}

}  // namespace canopy::conv::few_tiles
