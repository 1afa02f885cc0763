// SPDX-License-Identifier: Apache-2.0
// Gradients of problems of a few thousand multiply-adds, which take a microsecond or two: what other algorithms do
// before they multiply would be most of it. Pairs of pixels are listed when a problem is planned.
#include <string_view>

#include "conv/few_pairs/limits.h"

namespace canopy::conv::few_pairs {

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  const bool products = (computation & (kBackwardData | kBackwardWeights)) != 0;
  if (!products || (computation & (kForward | kBiasFromInput)) != 0) return "it sums products of gradients only";
  if (problem.has_bias) return "it adds no bias";
  if ((computation & kBiasFromOutput) != 0 && problem.rule.input_rounding != numerics::InputRounding::kNone) {
    return "the bias gradient is not rounded";
  }
  const Geometry& g = problem.geometry;
  if (g.groups != 1) return "there are groups";
  if (g.input_channels < 1 || g.input_channels > kernels::kFewPairsLanes) {
    return "there are no or more than 16 channels";
  }
  if (g.output_channels < 1 || g.output_channels > kMostOutputChannels) {
    return "there are no or more than 32 output channels";
  }
  if (!AreFew(g)) return "there are more than 512 pixels or pairs of them";
  return "";
}

}  // namespace canopy::conv::few_pairs
