// SPDX-License-Identifier: Apache-2.0
#include "conv/pixel_rows/data_step.h"

namespace canopy::conv::pixel_rows {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<DataStep>(problem, ledger);
}

}  // namespace canopy::conv::pixel_rows
