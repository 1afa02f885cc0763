// SPDX-License-Identifier: Apache-2.0
#include "conv/shifted_slab/step.h"

namespace canopy::conv::shifted_slab {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<SlabStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::shifted_slab
