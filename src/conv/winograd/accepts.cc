// SPDX-License-Identifier: Apache-2.0
// Products of the numbers that 6x6 windows and 3x3 kernels have at six points an axis: a quarter of the multiply-adds.
#include <string>

#include "conv/problem.h"
#include "conv/winograd/data_step.h"
#include "conv/winograd/weights_shape.h"

namespace canopy::conv::winograd {
namespace {

constexpr int64_t kLeastChannels = 16;  // below, transforms outweigh the products saved

}  // namespace

std::string Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "it sums no products";
  const Geometry& g = problem.geometry;
  for (int axis = 0; axis < 3; ++axis) {
    if (g.stride[axis] != 1) return "the stride is not 1";
    if (g.kernel[axis] > 1 && g.dilation[axis] != 1) return "the kernel is dilated";
  }
  if (g.group_input_channels() < kLeastChannels || g.group_output_channels() < kLeastChannels) {
    return "a group has fewer than 16 channels";
  }
  if (computation != kBackwardWeights) {
    if (g.kernel[1] != 3 || g.kernel[2] != 3) return "the kernel is not 3x3";
    return g.kernel[0] < 1 || g.kernel[0] > kMostDepths ? "the kernel has more than 4 depths" : "";
  }
  if (!WeightsShape(g.kernel).served)
    return "the kernel has not 3 offsets along one axis or two, and 1 or up to 4 depths";
  if (g.batch == 0 || g.output_size[0] * g.output_size[1] * g.output_size[2] == 0) {
    return "there is nothing to sum";
  }
  return "";
}

}  // namespace canopy::conv::winograd
