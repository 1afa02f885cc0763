// SPDX-License-Identifier: Apache-2.0
// Dense products whose vectors hold channels and whose rows are just the positions that a tap reaches.
#include <string_view>

#include "conv/problem.h"

namespace canopy::conv::channel_lanes {
namespace {

constexpr int64_t kMostTaps = 1024;  // a chunk of one source channel then still has room in the L2

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "it sums no products";
  const Geometry& g = problem.geometry;
  if (g.taps() == 0) return "the kernel is empty";
  if (g.kernel[0] > kMostTaps || g.kernel[1] > kMostTaps || g.kernel[2] > kMostTaps || g.taps() > kMostTaps) {
    return "the kernel has more than 1024 offsets";
  }
  return "";
}

}  // namespace canopy::conv::channel_lanes
