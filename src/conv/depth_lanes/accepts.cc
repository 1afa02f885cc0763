// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/accepts.h"

#include <string>

#include "conv/problem.h"

namespace canopy::conv::depth_lanes {
namespace {

constexpr int64_t kMostStride = 64;
constexpr int64_t kMostTaps = 1024;  // bounds the sums of a block of channels

}  // namespace

std::string Accepts(const ConvProblem& problem, Computation computation) {
  const std::string refusal = sheets::RefuseJoint(problem, computation, kMostStride);
  if (!refusal.empty()) return refusal;
  if (problem.geometry.taps() > kMostTaps) return "the kernel is too large";
  const bool bias = (computation & kBiasFromOutput) != 0;
  if (bias && problem.rule.input_rounding != numerics::InputRounding::kNone) return "the bias gradient is not rounded";
  return "";
}

}  // namespace canopy::conv::depth_lanes
