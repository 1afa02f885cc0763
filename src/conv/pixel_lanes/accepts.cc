// SPDX-License-Identifier: Apache-2.0
// Few result channels: pixels are the lanes of vectors, and every weight is a factor for all of them.
#include <algorithm>
#include <string>

#include "conv/problem.h"

namespace canopy::conv::pixel_lanes {
namespace {

constexpr int64_t kMostChannels = 28;  // of a group's result: two rounds of the highest tile
constexpr int64_t kMostTaps = 1024;
constexpr int64_t kMostSpread = 2;  // of the taps, in extents of the tensor: bounds the padding of a slab

}  // namespace

std::string Accepts(const ConvProblem& problem, Computation computation) {
  if (computation != kForward && computation != kBackwardData) return "it computes no weight gradient";
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
