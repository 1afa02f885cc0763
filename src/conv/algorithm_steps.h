// SPDX-License-Identifier: Apache-2.0
// What each algorithm defines: for the list of all, and for those that bring a problem into another's form.
#ifndef CANOPY_CONV_ALGORITHM_STEPS_H_
#define CANOPY_CONV_ALGORITHM_STEPS_H_

#include <memory>
#include <string_view>

#include "conv/algorithm.h"

namespace canopy::conv {

#define CANOPY_ALGORITHM(name)                                                                                        \
  namespace name {                                                                                                    \
  std::string_view Accepts(const ConvProblem& problem, Computation computation);                                      \
  std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger); \
  }
#define CANOPY_FAST_ALGORITHM(name) CANOPY_ALGORITHM(name)
#define CANOPY_JOINT_ALGORITHM(name) CANOPY_ALGORITHM(name)
#define CANOPY_FAST_JOINT_ALGORITHM(name) CANOPY_ALGORITHM(name)
#include "conv/algorithms.inc"
#undef CANOPY_FAST_JOINT_ALGORITHM
#undef CANOPY_JOINT_ALGORITHM
#undef CANOPY_FAST_ALGORITHM
#undef CANOPY_ALGORITHM

}  // namespace canopy::conv

#endif  // CANOPY_CONV_ALGORITHM_STEPS_H_
