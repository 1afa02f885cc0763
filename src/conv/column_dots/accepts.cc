// SPDX-License-Identifier: Apache-2.0
// Weight gradients of few columns, an input channel and a tap each: as lanes they would leave vectors half empty.
#include <algorithm>
#include <string_view>

#include "conv/column_dots/weights_step.h"

namespace canopy::conv::column_dots {
namespace {

constexpr int64_t kMostColumns = 256;  // whose sums stay near
constexpr int64_t kFewestOutputs = 4;  // of a group: its slab is made for them alone
constexpr int64_t kMostExtent = int64_t{1} << 30;

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  const bool bias = computation == (kBackwardWeights | kBiasFromOutput);
  if (computation != kBackwardWeights && !bias) return "it computes weight and bias gradients only";
  if (bias && !problem.ReadsUnrounded(problem.output)) return "the bias gradient is not rounded";
  const Geometry& g = problem.geometry;
  if (g.group_input_channels() == 0) return "there is nothing to sum";
  if (g.groups > 1 && g.group_output_channels() < kFewestOutputs) return "a group has fewer than 4 output channels";
  if (*std::min_element(g.output_size.begin(), g.output_size.end()) <= 0) return "there is no output";
  if (*std::max_element(g.kernel.begin(), g.kernel.end()) > kMostColumns || g.taps() == 0 ||
      g.group_input_channels() > kMostColumns / g.taps()) {
    return "a group has no columns or more than 256";
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (std::max(g.stride[axis], g.dilation[axis]) > kMostExtent) return "taps lie more than 2^30 positions apart";
  }
  if (problem.output.strides[4] != 1 && g.output_size[2] > 1) return "output pixels of a row do not lie side by side";
  if (SlabFloats(g) > packing::kMostTapSlabFloats)
    return "the input under a few rows of output takes more than 512 KiB";
  return "";
}

}  // namespace canopy::conv::column_dots
