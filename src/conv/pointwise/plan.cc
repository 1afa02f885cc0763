// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/data_step.h"
#include "conv/pointwise/dot_weights_step.h"
#include "conv/pointwise/weights_step.h"

namespace canopy::conv::pointwise {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if ((computation & kBackwardWeights) != 0) {
    if (computation == kBackwardWeights && DotWeightsStep::Serves(problem)) {
      plan::WorkspaceLedger booked = *ledger, other = *ledger;
      auto dots = std::make_unique<DotWeightsStep>(problem, &booked);
      if (dots->Work() < WeightsStep(problem, computation, &other).Work()) {
        *ledger = std::move(booked);
        return dots;
      }
    }
    return std::make_unique<WeightsStep>(problem, computation, ledger);
  }
  return std::make_unique<DataStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::pointwise
