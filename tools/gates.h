// SPDX-License-Identifier: Apache-2.0
// Which errors an output may have: the gates of this project, by the output's type.
#ifndef CANOPY_TOOLS_GATES_H_
#define CANOPY_TOOLS_GATES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/compare.h"

namespace canopy::tools {

struct Gate {
  // FLOAT: of the norm-wise relative error (against the size of the terms, where that was given and is greater). 1e-6
  // where every algorithm is direct, else what fast ones may have.
  double norm = 3e-6;
  // The "close" comparison applies: short sums of the data it was made for (see NarrowData).
  bool close = false;
  // Every element must equal the golden value rounded once.
  bool exact = false;
  // Where the case brings its own, nothing else is asked but NaN and Inf in their places.
  std::optional<Tolerance> tolerance;
};

// What is wrong, a phrase for each criterion that was missed; empty: passed.
std::vector<std::string> Judge(const Errors& errors, const Gate& gate, bool hf32 = false);

// Inputs within [-0.1, 0.1], as in the suppliers' lists. The "close" comparison's absolute bound of 1e-8 is made for
// products of such values; with larger ones no FP32 sum that cancels can keep it.
bool NarrowData(const Case& a_case);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_GATES_H_
