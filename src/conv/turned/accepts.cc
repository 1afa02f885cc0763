// SPDX-License-Identifier: Apache-2.0
// Kernels of 1 over tensors whose channels lie side by side.
#include <string_view>

#include "conv/packing/planes.h"
#include "conv/turned/turn.h"

namespace canopy::conv::turned {

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "it sums no products";
  const Geometry& g = problem.geometry;
  if (g.taps() != 1 || packing::HasStride(g) || g.pad_begin != Extent3{}) {
    return "the kernel is not one offset over the same pixels";
  }
  if (g.groups != 1) return "there are groups";
  if (problem.has_bias) return "a bias is added";
  if (!MakeTurn(problem, computation)) return "channels do not lie side by side, or pixels not at equal distances";
  return "";
}

}  // namespace canopy::conv::turned
