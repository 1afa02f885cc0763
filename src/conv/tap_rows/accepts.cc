// SPDX-License-Identifier: Apache-2.0
// Few input channels: the rows of a product are taps, and nothing is copied for each of them.
#include <algorithm>
#include <string_view>

#include "conv/tap_rows/weights_step.h"

namespace canopy::conv::tap_rows {

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  const bool bias = computation == (kBackwardWeights | kBiasFromOutput);
  if (computation != kBackwardWeights && !bias) return "it computes weight and bias gradients only";
  if (bias && !problem.ReadsUnrounded(problem.output)) return "the bias gradient is not rounded";
  const Geometry& g = problem.geometry;
  if (bias && g.group_input_channels() == 0) return "there is nothing to sum";
  if (g.taps() == 0) return "the kernel is empty";
  if (*std::min_element(g.output_size.begin(), g.output_size.end()) <= 0) return "there is no output";
  constexpr int64_t kMost = 1024;
  if (*std::max_element(g.kernel.begin(), g.kernel.end()) > kMost || g.taps() > kMost) {
    return "the kernel has more than 1024 offsets";
  }
  if (*std::max_element(g.stride.begin(), g.stride.end()) > kMost) return "the stride is more than 1024";
  if (*std::max_element(g.dilation.begin(), g.dilation.end()) > kMost) return "the dilation is more than 1024";
  const auto& strides = problem.output.strides;
  if (strides[4] != 1 && strides[1] != 1 && g.output_size[2] > 1) {
    return "neither output pixels of a row nor channels lie side by side";
  }
  if (SlabFloatsAChannel(g) > packing::kMostTapSlabFloats)
    return "the input under a few rows of output takes more than 512 KiB";
  return "";
}

}  // namespace canopy::conv::tap_rows
