// SPDX-License-Identifier: Apache-2.0
// Plain loops over the definition: serves any problem, and is what other algorithms fall back to.
#include <string_view>

#include "conv/problem.h"

namespace canopy::conv::reference {

std::string_view Accepts(const ConvProblem&, Computation) { return ""; }

}  // namespace canopy::conv::reference
