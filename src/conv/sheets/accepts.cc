// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/accepts.h"

#include <algorithm>

#include "conv/sheets/depth.h"
#include "conv/sheets/reach.h"

namespace canopy::conv::sheets {
namespace {

constexpr int64_t kMostJointColumns = 4096;  // of a plane: bounds a thread's sheets

}  // namespace

std::string_view RefuseDepthwise(const Geometry& g, int64_t most_columns) {
  if (g.group_input_channels() != 1 || g.group_output_channels() != 1) return "a group has several channels";
  if (std::min({g.batch, g.groups}) <= 0) return "an extent is 0";
  for (int axis = 0; axis < 3; ++axis) {
    if (std::min({g.input_size[axis], g.output_size[axis], g.kernel[axis]}) <= 0) return "an extent is 0";
    if (g.kernel[axis] > kMostKernelExtent) return "the kernel is too large";
  }
  if (std::max(g.input_size[2], g.output_size[2]) > most_columns) return "rows are too long";
  return "";
}

std::string_view RefuseDepth(const Geometry& g) { return HasDepth(g) ? "the kernel has a depth" : ""; }

std::string_view RefuseJoint(const ConvProblem& problem, Computation computation) {
  const Geometry& g = problem.geometry;
  const bool data = (computation & kBackwardData) != 0, weights = (computation & kBackwardWeights) != 0;
  if ((computation & (kForward | kBiasFromInput)) != 0 || (!data && !weights)) return "it serves backward only";
  const std::string_view refusal = RefuseDepthwise(g, kMostJointColumns);
  if (!refusal.empty()) return refusal;
  for (int axis = 0; axis < 3; ++axis) {
    if (g.kernel[axis] > 1 && g.dilation[axis] != 1) return "the kernel is dilated";
  }
  if (data && problem.has_bias) return "a bias is added";
  if ((computation & kBiasFromOutput) == 0) return "";
  const bool all = Reach(g, 0).MeetsAll() && Reach(g, 1).MeetsAll() && Reach(g, 2).MeetsAll();
  return all ? "" : "some outputs meet no input";
}

}  // namespace canopy::conv::sheets
