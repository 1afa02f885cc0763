// SPDX-License-Identifier: Apache-2.0
#include "conv/column_dots/weights_step.h"

namespace canopy::conv::column_dots {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<WeightsStep>(InLines(problem), computation, ledger);
}

}  // namespace canopy::conv::column_dots
