// SPDX-License-Identifier: Apache-2.0
// Plain loops over the definition: serves any problem, and is what other algorithms fall back to.
#include <string>

#include "conv/problem.h"

namespace canopy::conv::reference {

std::string Accepts(const ConvProblem&, Computation) { return ""; }

}  // namespace canopy::conv::reference
