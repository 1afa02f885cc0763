// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/accepts.h"

#include <algorithm>
#include <string_view>

#include "conv/problem.h"
#include "conv/sheets/depth.h"

namespace canopy::conv::joint_planes {
namespace {

constexpr int64_t kMostTaps = 4096;  // bounds a thread's sums

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  const bool data = (computation & kBackwardData) != 0, weights = (computation & kBackwardWeights) != 0;
  const std::string_view refusal = sheets::RefuseJoint(problem, computation);
  if (!refusal.empty()) return refusal;
  const Geometry g = sheets::DepthAsHeight(problem).geometry;
  if (g.taps() > kMostTaps) return "the kernel is too large";
  if (std::max(g.stride[1], g.stride[2]) > 2) return "the stride is more than 2";
  if (problem.output.strides[4] != 1 || (weights && problem.input.strides[4] != 1) ||
      (data && problem.input_result.strides[4] != 1)) {
    return "pixels do not lie side by side";
  }
  const bool bias = (computation & kBiasFromOutput) != 0;
  if (bias && !problem.ReadsUnrounded(problem.output)) return "the bias gradient is not rounded";
  return "";
}

}  // namespace canopy::conv::joint_planes
