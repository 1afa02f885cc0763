// SPDX-License-Identifier: Apache-2.0
// These weight gradients as a step, for algorithms that bring other problems into their form.
#ifndef CANOPY_CONV_TAP_ROWS_MAKE_STEP_H_
#define CANOPY_CONV_TAP_ROWS_MAKE_STEP_H_

#include <memory>
#include <string_view>

#include "conv/algorithm.h"

namespace canopy::conv::tap_rows {

// Why it does not serve the computation; empty where it does.
std::string_view Accepts(const ConvProblem& problem, Computation computation);

// REQUIRES: it does.
std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

}  // namespace canopy::conv::tap_rows

#endif  // CANOPY_CONV_TAP_ROWS_MAKE_STEP_H_
