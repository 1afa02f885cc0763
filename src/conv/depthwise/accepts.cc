// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "conv/depthwise/step.h"
#include "conv/problem.h"

namespace canopy::conv::depthwise {
namespace {

constexpr int64_t kMostGroupChannels = 16;
constexpr int64_t kLeastLanes = 4;  // of a vector, that hold something
constexpr int64_t kMostThreadBytes = int64_t{6} << 20;

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "it sums no products";
  const Geometry& g = problem.geometry;
  int64_t least = std::min({g.batch, g.groups, g.input_channels, g.output_channels});
  for (int axis = 0; axis < 3; ++axis) {
    least = std::min({least, g.input_size[axis], g.output_size[axis], g.kernel[axis]});
  }
  if (least <= 0) return "an extent is 0";
  if (g.group_input_channels() > kMostGroupChannels || g.group_output_channels() > kMostGroupChannels) {
    return "a group has more than 16 channels";
  }
  if (g.groups * g.batch < kLeastLanes) return "groups and images together are fewer than 4";
  const PieceLayout layout(problem, computation);
  const int64_t bytes = (layout.source_floats() + layout.piece_floats()) * static_cast<int64_t>(sizeof(float));
  return bytes > kMostThreadBytes ? "a thread would need more than 6 MiB" : "";
}

}  // namespace canopy::conv::depthwise
