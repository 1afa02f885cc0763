// SPDX-License-Identifier: Apache-2.0
// The bias gradient: the sum of a tensor over batch and space, channel by channel, in its own precision.
#include <string_view>

#include "conv/problem.h"

namespace canopy::conv::channel_sum {

std::string_view Accepts(const ConvProblem&, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "";
  return "it serves bias gradients only";
}

}  // namespace canopy::conv::channel_sum
