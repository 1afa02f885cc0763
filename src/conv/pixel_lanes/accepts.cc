// SPDX-License-Identifier: Apache-2.0
// Few channels: pixels are the lanes of vectors, and every weight is a factor for all of them, or a sum over all.
#include "conv/sheets/accepts.h"

#include <algorithm>
#include <string_view>

#include "conv/pixel_lanes/weights_step.h"
#include "conv/problem.h"

namespace canopy::conv::pixel_lanes {
namespace {

constexpr int64_t kMostChannels = 28;  // of a group's result: two rounds of the highest tile
constexpr int64_t kMostTaps = 1024;
constexpr int64_t kMostSpread = 2;  // of the taps, in extents of the tensor: bounds the padding of a slab

constexpr int64_t kMostSums = 16 << 10;       // of a group's weights: vectors of them stay in a second-level cache
constexpr int64_t kMostRowFloats = 64 << 10;  // of a row of positions of all a group's planes

std::string_view AcceptsWeights(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  if (std::min({g.batch, g.groups, g.group_input_channels(), g.group_output_channels()}) <= 0) return "an extent is 0";
  if (g.group_input_channels() == 1 && g.group_output_channels() == 1) return "a group has one channel";
  for (int axis = 0; axis < 3; ++axis) {
    if (std::min({g.input_size[axis], g.output_size[axis], g.kernel[axis]}) <= 0) return "an extent is 0";
  }
  if (const std::string_view refusal = sheets::RefuseDepth(g); !refusal.empty()) return refusal;
  if (problem.input.strides[4] != 1 || problem.output.strides[4] != 1) return "pixels do not lie side by side";
  if (g.stride[2] > 2) return "the stride is more than 2";
  if (g.taps() > kMostTaps || g.group_output_channels() * g.group_input_channels() > kMostSums / g.taps()) {
    return "a group has many weights";
  }
  const WeightTaps rows(g, 1), columns(g, 2);
  const double planes = static_cast<double>(g.group_output_channels()) +
                        static_cast<double>(g.group_input_channels() * g.stride[1] * g.stride[2]);
  const double positions = static_cast<double>(columns.pitch) * static_cast<double>(1 + rows.greatest - rows.least);
  return planes * positions > kMostRowFloats ? "rows are too long" : "";
}

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kBackwardWeights) return AcceptsWeights(problem);
  if (computation == (kBackwardWeights | kBiasFromOutput)) {
    const bool rounds = problem.rule.input_rounding != numerics::InputRounding::kNone;
    return rounds ? "the bias gradient is not rounded" : AcceptsWeights(problem);
  }
  if (computation != kForward && computation != kBackwardData) return "it sums no products";
  const Geometry& g = problem.geometry;
  const bool forward = computation == kForward;
  if ((forward ? g.group_output_channels() : g.group_input_channels()) > kMostChannels) {
    return "a group has more than 28 result channels";
  }
  if ((forward ? g.group_input_channels() : g.group_output_channels()) == 0) return "there is nothing to sum";
  if (forward && g.stride != Extent3{1, 1, 1}) return "forward, the stride is not 1";
  if (*std::max_element(g.kernel.begin(), g.kernel.end()) > kMostTaps || g.taps() > kMostTaps) {
    return "the kernel has more than 1024 offsets";
  }
  if (g.taps() == 0) return "the kernel is empty";
  for (int axis = 0; axis < 3; ++axis) {
    const double size = static_cast<double>((forward ? g.input_size : g.output_size)[axis] + g.stride[axis]);
    const double spread = static_cast<double>(g.kernel[axis] - 1) * static_cast<double>(g.dilation[axis]);
    if (spread > kMostSpread * size) return "the taps lie further apart than twice the tensor";
  }
  return "";
}

}  // namespace canopy::conv::pixel_lanes
