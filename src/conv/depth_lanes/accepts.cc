// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "conv/joint_planes/layout.h"
#include "conv/planes/sheet.h"
#include "conv/problem.h"

namespace canopy::conv::depth_lanes {
namespace {

constexpr int64_t kMostColumns = 4096;  // of a plane: bounds a thread's sheets
constexpr int64_t kMostTaps = 1024;     // bounds the sums of a block of channels

std::string AcceptsGeometry(const Geometry& g) {
  if (g.group_input_channels() != 1 || g.group_output_channels() != 1) return "a group has several channels";
  if (std::min({g.batch, g.groups}) <= 0) return "an extent is 0";
  for (int axis = 0; axis < 3; ++axis) {
    if (std::min({g.input_size[axis], g.output_size[axis], g.kernel[axis]}) <= 0) return "an extent is 0";
    if (g.kernel[axis] > planes::kMostKernelExtent) return "the kernel is too large";
    if (g.kernel[axis] > 1 && g.dilation[axis] != 1) return "the kernel is dilated";
    if (g.stride[axis] > planes::kMostKernelExtent) return "the stride is too large";
  }
  if (g.taps() > kMostTaps) return "the kernel is too large";
  if (g.kernel[0] != 1 || g.stride[0] != 1 || g.pad_begin[0] != 0 || g.output_size[0] != g.input_size[0]) {
    return "the kernel has a depth";
  }
  if (std::max(g.input_size[2], g.output_size[2]) > kMostColumns) return "rows are too long";
  return "";
}

}  // namespace

std::string Accepts(const ConvProblem& problem, Computation computation) {
  const bool data = (computation & kBackwardData) != 0, weights = (computation & kBackwardWeights) != 0;
  if ((computation & (kForward | kBiasFromInput)) != 0 || (!data && !weights)) return "it serves backward only";
  const std::string refusal = AcceptsGeometry(problem.geometry);
  if (!refusal.empty()) return refusal;
  if (data && problem.has_bias) return "a bias is added";
  if ((computation & kBiasFromOutput) == 0) return "";
  if (problem.rule.input_rounding != numerics::InputRounding::kNone) return "the bias gradient is not rounded";
  const bool all =
      joint_planes::Reach(problem.geometry, 1).MeetsAll() && joint_planes::Reach(problem.geometry, 2).MeetsAll();
  return all ? "" : "some outputs meet no input";
}

}  // namespace canopy::conv::depth_lanes
