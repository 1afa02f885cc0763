// SPDX-License-Identifier: Apache-2.0
// Kernels of 2 to 5 rows over few channels: half of the multiply-adds of 3 rows, with transforms along the height only.
#include <algorithm>
#include <string_view>

#include "conv/algorithm_steps.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::row_winograd {
namespace {

constexpr int64_t kMostColumns = 2048;      // of a row
constexpr int64_t kMostWeights = 64 << 10;  // of a group
constexpr double kLeastProducts = 16e3;     // planning would take longer than they do
constexpr int64_t kMostSources = 64;        // of weight gradients, whose windows stay in a second-level cache

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  // What is not finite is multiplied there.
  if (const std::string_view refusal = pixel_lanes::Accepts(problem, computation); !refusal.empty()) return refusal;
  const Geometry& g = problem.geometry;
  if (g.kernel[1] < kernels::kLeastWinogradKernel || g.kernel[1] > kernels::kMostWinogradKernel) {
    return "the kernel has not 2 to 5 rows";
  }
  if (g.stride != Extent3{1, 1, 1} || g.dilation[1] != 1) return "there is a stride, or rows are dilated";
  if (g.group_input_channels() * g.group_output_channels() < 2) return "a group has one channel";
  for (const Extent3* size : {&g.input_size, &g.output_size}) {
    if (std::min({(*size)[0], (*size)[1], (*size)[2], g.batch}) <= 0) return "an extent is 0";
    if ((*size)[2] > kMostColumns) return "a row is longer than 2048 pixels";
  }
  const bool weights = (computation & kBackwardWeights) != 0;
  for (const Operand* operand : {weights || computation == kForward ? &problem.input : &problem.input_result,
                                 computation == kForward ? &problem.output_result : &problem.output}) {
    if (operand->strides[4] != 1) return "pixels do not lie side by side";
  }
  if (g.group_input_channels() * g.group_output_channels() > kMostWeights / g.taps()) {
    return "a group has more than 65,536 weights";
  }
  if (weights && g.group_input_channels() * g.kernel[0] > kMostSources) {
    return "a group has more than 64 input channels, counted once for each depth of the kernel";
  }
  const double pairs = static_cast<double>(g.group_input_channels() * g.output_channels * g.taps());
  const double positions = static_cast<double>(g.batch * g.output_size[0] * g.output_size[1] * g.output_size[2]);
  return pairs * positions < kLeastProducts ? "there are too few products for transforms to pay" : "";
}

}  // namespace canopy::conv::row_winograd
