// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/data_step.h"

namespace canopy::conv::winograd {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<DataStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::winograd
