// SPDX-License-Identifier: Apache-2.0
// The general algorithm: every computation as a product of packed panels, the panels gathered from plain tensors as
// they are needed.
#include <string_view>

#include "conv/problem.h"

namespace canopy::conv::implicit_gemm {

std::string_view Accepts(const ConvProblem&, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "it sums no products";
  return "";
}

}  // namespace canopy::conv::implicit_gemm
