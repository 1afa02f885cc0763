// SPDX-License-Identifier: Apache-2.0
// Kernels of 1 over tensors whose channels lie side by side, and those over the whole input.
#include <string_view>

#include "conv/turned/turn.h"

namespace canopy::conv::turned {

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "it sums no products";
  const Geometry& g = problem.geometry;
  if (!IsProduct(g)) return "the kernel is neither one offset over the same pixels nor as large as the input";
  if (g.groups != 1) return "there are groups";
  if (problem.has_bias) return "a bias is added";
  if (!MakeTurn(problem, computation)) return "channels do not lie side by side, or pixels not at equal distances";
  return "";
}

}  // namespace canopy::conv::turned
