// SPDX-License-Identifier: Apache-2.0
// Products of the numbers that 6x6 windows and 3x3 kernels have at six points an axis: a quarter of the multiply-adds.
#include <string>

#include "conv/problem.h"
#include "conv/winograd/data_step.h"

namespace canopy::conv::winograd {
namespace {

constexpr int64_t kLeastChannels = 16;  // below, transforms outweigh the products saved

}  // namespace

std::string Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "it sums no products";
  const Geometry& g = problem.geometry;
  if (g.kernel[1] != 3 || g.kernel[2] != 3) return "the kernel is not 3x3";
  if (g.kernel[0] < 1 || g.kernel[0] > kMostDepths) return "the kernel has more than 4 depths";
  if (g.stride != Extent3{1, 1, 1}) return "the stride is not 1";
  if ((g.kernel[0] > 1 && g.dilation[0] != 1) || g.dilation[1] != 1 || g.dilation[2] != 1) {
    return "the kernel is dilated";
  }
  if (g.group_input_channels() < kLeastChannels || g.group_output_channels() < kLeastChannels) {
    return "a group has fewer than 16 channels";
  }
  if (computation != kBackwardWeights) return "";
  if (g.kernel[0] != 1) return "the kernel has depths";
  if (g.pad_begin[0] != 0 || g.input_size[0] != g.output_size[0]) return "the depth is padded";
  if (g.batch == 0 || g.output_size[0] * g.output_size[1] * g.output_size[2] == 0) {
    return "there is nothing to sum";
  }
  return "";
}

}  // namespace canopy::conv::winograd
