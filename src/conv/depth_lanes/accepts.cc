// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/accepts.h"

#include <algorithm>
#include <string_view>

#include "conv/problem.h"

namespace canopy::conv::depth_lanes {
namespace {

constexpr int64_t kMostStride = 64;
constexpr int64_t kMostTaps = 1024;  // bounds the sums of a block of channels

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  std::string_view refusal = sheets::RefuseJoint(problem, computation);
  if (refusal.empty()) refusal = sheets::RefuseDepth(problem.geometry);
  if (!refusal.empty()) return refusal;
  const Geometry& g = problem.geometry;
  if (std::max(g.stride[1], g.stride[2]) > kMostStride) return "the stride is more than 64";
  if (g.taps() > kMostTaps) return "the kernel is too large";
  const bool bias = (computation & kBiasFromOutput) != 0;
  if (bias && problem.rule.input_rounding != numerics::InputRounding::kNone) return "the bias gradient is not rounded";
  return "";
}

}  // namespace canopy::conv::depth_lanes
