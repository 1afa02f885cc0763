// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/data_step.h"
#include "conv/winograd/weights_step.h"

namespace canopy::conv::split_winograd {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if ((computation & kBackwardWeights) != 0) {
    return std::make_unique<winograd::WeightsStep>(problem, computation, ledger, winograd::Products::kInParts);
  }
  return std::make_unique<winograd::DataStep>(problem, computation, ledger, winograd::Products::kInParts);
}

}  // namespace canopy::conv::split_winograd
