// SPDX-License-Identifier: Apache-2.0
// Products of the numbers that windows and kernels have at six points an axis: half the multiply-adds of 3 kernel
// offsets along an axis, a quarter along two.
#include <string_view>

#include "conv/problem.h"
#include "conv/winograd/data_step.h"
#include "conv/winograd/weights_shape.h"

namespace canopy::conv::winograd {
namespace {

constexpr int64_t kLeastChannels = 16;  // below, transforms outweigh the products saved
constexpr int64_t kMostDilation = 4;    // above, pixels of many tiles at once leave the cache

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == (kBackwardWeights | kBiasFromOutput)) {
    if (problem.rule.input_rounding != numerics::InputRounding::kNone) return "the bias gradient is not rounded";
    computation = kBackwardWeights;
  }
  if (computation != kForward && computation != kBackwardData && computation != kBackwardWeights) {
    return "it computes products of one kind, those of weight gradients with or without bias gradients";
  }
  const Geometry& g = problem.geometry;
  for (int axis = 0; axis < 3; ++axis) {
    if (computation == kBackwardWeights && g.kernel[axis] > 1 && g.dilation[axis] > kMostDilation) {
      return "the dilation is more than 4";
    }
  }
  if (g.group_input_channels() < kLeastChannels || g.group_output_channels() < kLeastChannels) {
    return "a group has fewer than 16 channels";
  }
  if (computation != kBackwardWeights) {
    return Tilings(g, computation == kForward).empty()
               ? "no few terms of 2 to 4 offsets along an axis make up the kernel, or what a stride leaves of it, "
                 "or they are dilated too far"
               : "";
  }
  if (!WeightsShape(g).served) {
    return "the kernel is not, along one axis or two, 2 to 5 offsets that a stride leaves or up to 8 parts of such "
           "without "
           "one, and up to 4 depths without dilation and no fewer than their stride";
  }
  if (g.batch == 0 || g.output_size[0] * g.output_size[1] * g.output_size[2] == 0) {
    return "there is nothing to sum";
  }
  return "";
}

}  // namespace canopy::conv::winograd
