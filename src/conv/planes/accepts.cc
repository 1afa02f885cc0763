// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/accepts.h"

#include <algorithm>
#include <string_view>

#include "conv/planes/data_step.h"
#include "conv/planes/weights_step.h"
#include "conv/problem.h"

namespace canopy::conv::planes {
namespace {

constexpr int64_t kMostColumns = 8192;  // of a plane: bounds a thread's sheets

// Empty where results are one dense stencil.
std::string_view AcceptsData(const Geometry& g, Computation computation) {
  for (int axis = 1; axis < 3; ++axis) {
    const DataAxis side(g, computation, axis);
    if (side.laws != 1) return "the stride makes several stencils";
    if (side.law.result_step != 1 || side.law.tap_step != 1) return "taps or results lie apart in the source";
    if (side.law.Sources().size() == 0) return "no tap meets the source";
  }
  return "";
}

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "it sums no products";
  const Geometry& g = problem.geometry;
  std::string_view refusal = sheets::RefuseDepthwise(g, kMostColumns);
  if (refusal.empty()) refusal = sheets::RefuseDepth(g);
  if (!refusal.empty()) return refusal;
  if (problem.has_bias) return "a bias is added";
  const bool weights = computation == kBackwardWeights, forward = computation == kForward;
  const Operand& result = forward ? problem.output_result : problem.input_result;
  if (!forward && problem.output.strides[4] != 1) return "pixels do not lie side by side";
  if ((forward || weights) && problem.input.strides[4] != 1) return "pixels do not lie side by side";
  if (!weights && result.strides[4] != 1) return "pixels do not lie side by side";
  if (!weights) return AcceptsData(g, computation);
  if (g.dilation[1] != 1 || g.dilation[2] != 1) return "the kernel is dilated";
  if (g.stride[2] > 2 || g.stride[1] > kMostStride) return "the stride is more than 2";
  return "";
}

}  // namespace canopy::conv::planes
