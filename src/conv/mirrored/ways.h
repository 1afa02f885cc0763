// SPDX-License-Identifier: Apache-2.0
// The algorithms of few input channels that serve mirrors.
#ifndef CANOPY_CONV_MIRRORED_WAYS_H_
#define CANOPY_CONV_MIRRORED_WAYS_H_

#include <memory>
#include <string_view>

#include "conv/algorithm_steps.h"

namespace canopy::conv::mirrored {

struct Way {
  const char* name;
  Computation computation;
  std::string_view (*accepts)(const ConvProblem& mirror, Computation computation);
  std::unique_ptr<Step> (*make)(const ConvProblem& mirror, Computation computation, plan::WorkspaceLedger* ledger);
};

inline constexpr Way kWays[] = {
    {"columns", kForward, &columns::Accepts, &columns::MakeStep},
    {"tap_rows", kBackwardWeights, &tap_rows::Accepts, &tap_rows::MakeStep},
    {"column_dots", kBackwardWeights, &column_dots::Accepts, &column_dots::MakeStep},
};

}  // namespace canopy::conv::mirrored

#endif  // CANOPY_CONV_MIRRORED_WAYS_H_
