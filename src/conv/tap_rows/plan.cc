// SPDX-License-Identifier: Apache-2.0
#include "conv/tap_rows/weights_step.h"

namespace canopy::conv::tap_rows {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<WeightsStep>(WithFullStrips(problem), computation, ledger);
}

}  // namespace canopy::conv::tap_rows
