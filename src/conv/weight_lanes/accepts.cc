// SPDX-License-Identifier: Apache-2.0
// Large weights over few pixels: what counts is that weights and their gradient are read and written once, where they
// stand.
#include <algorithm>
#include <string_view>

#include "conv/packing/planes.h"
#include "conv/weight_lanes/limits.h"
#include "conv/weight_lanes/shifts.h"
#include "conv/weight_lanes/slab.h"

namespace canopy::conv::weight_lanes {
namespace {

constexpr int64_t kMostTaps = 1024;
constexpr int64_t kMostPadded = 4096;           // input positions of an image, padding included
constexpr int64_t kMostColumnFloats = 3 << 19;  // 6 MiB

// Whether a channel's taps are one run, and input channels follow one another.
bool TapsRun(const Operand& weight, const Extent3& kernel) {
  const auto& s = weight.strides;
  return s[4] == 1 && s[3] == kernel[2] && s[2] == kernel[1] * kernel[2] && s[1] == kernel[0] * kernel[1] * kernel[2];
}

bool SmallSlab(const Geometry& g) {
  const Slab slab(g);
  return *std::max_element(slab.extent.begin(), slab.extent.end()) <= kMostPadded && slab.floats() <= kMostPadded;
}

bool SmallShifts(const Geometry& g) {
  const Shifts shifts(g);
  for (int axis = 0; axis < 3; ++axis) {
    if (shifts.extent[axis] > kMostPadded / shifts.stride[axis]) return false;
  }
  return shifts.floats() <= kMostPadded;
}

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation != kForward && computation != kBackwardData && computation != kBackwardWeights) {
    return "it computes products only, one result at a time";
  }
  if (problem.has_bias) return "it adds no bias";
  const Geometry& g = problem.geometry;
  const bool weights = computation == kBackwardWeights, forward = computation == kForward;
  if (g.kernel[0] > kMostTaps || g.kernel[1] > kMostTaps || g.kernel[2] > kMostTaps || g.taps() > kMostTaps) {
    return "the kernel has more than 1024 offsets";
  }
  if (g.group_input_channels() * g.taps() * g.group_output_channels() == 0) return "there are no weights";
  const Extent3& size = g.output_size;
  if (g.batch > kMostPixels || size[0] > kMostPixels || size[1] > kMostPixels || size[2] > kMostPixels ||
      g.batch * size[0] * size[1] * size[2] > kMostPixels) {
    return "there are more than 256 output pixels";
  }
  const int64_t pixels = g.batch * size[0] * size[1] * size[2];
  if (pixels == 0) return "there are no output pixels";
  if (!packing::PlanesRun(forward ? problem.output_result : problem.output, size))
    return "output pixels do not lie side by side";
  if (!TapsRun(weights ? problem.weight_result : problem.weight, g.kernel)) {
    return "the weights of an output channel are not one run";
  }
  if (!SmallSlab(g) || (!forward && !SmallShifts(g))) return "a padded image has more than 4096 positions";
  if (forward) {
    const int64_t lanes = PixelPanels(pixels).block_lanes();
    if (g.input_channels > kMostColumnFloats / lanes / g.taps()) return "the columns take more than 6 MiB";
  }
  return "";
}

}  // namespace canopy::conv::weight_lanes
