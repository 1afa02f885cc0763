// SPDX-License-Identifier: Apache-2.0
// The products of a 1x1 kernel as a step, for algorithms that bring other problems into that form.
#ifndef CANOPY_CONV_POINTWISE_MAKE_STEP_H_
#define CANOPY_CONV_POINTWISE_MAKE_STEP_H_

#include <memory>

#include "conv/algorithm.h"

namespace canopy::conv::pointwise {

// REQUIRES: pointwise accepts the computation.
std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_MAKE_STEP_H_
