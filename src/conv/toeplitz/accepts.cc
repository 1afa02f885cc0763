// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/accepts.h"

#include <algorithm>
#include <string_view>

#include "conv/problem.h"
#include "kernels/toeplitz/contract.h"

namespace canopy::conv::toeplitz {
namespace {

constexpr int64_t kMostTerms = 256;  // of a sum, without a second level
constexpr int64_t kMostWeights = 64 << 10;

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "it sums no products";
  const Geometry& g = problem.geometry;
  if (g.group_input_channels() != 1 || g.group_output_channels() != 1) return "a group has several channels";
  if (std::min(g.batch, g.groups) <= 0) return "an extent is 0";
  for (int axis = 0; axis < 3; ++axis) {
    if (std::min({g.input_size[axis], g.output_size[axis], g.kernel[axis]}) <= 0) return "an extent is 0";
  }
  if (const std::string_view refusal = sheets::RefuseDepth(g); !refusal.empty()) return refusal;
  if (g.stride[1] != 1 || g.stride[2] != 1) return "the stride is not 1";
  if (g.dilation[1] != 1 || g.dilation[2] != 1) return "the kernel is dilated";
  const int64_t widest = std::max(g.input_size[2], g.output_size[2]);
  if (widest > kernels::Toeplitz().most_columns) return "rows are longer than a vector";
  if (widest * std::max(g.input_size[1], g.output_size[1]) > kMostTerms) return "planes are large";
  if (g.pad_begin[2] < g.output_size[2] - 1 || g.kernel[2] - g.pad_begin[2] < g.input_size[2]) {
    return "the kernel does not reach over whole rows";
  }
  if (g.taps() > kMostWeights) return "the kernel is large";
  if (problem.has_bias) return "a bias is added";
  const Operand& result = computation == kForward ? problem.output_result : problem.input_result;
  if (computation != kForward && problem.output.strides[4] != 1) return "pixels do not lie side by side";
  if (computation != kBackwardData && problem.input.strides[4] != 1) return "pixels do not lie side by side";
  if (computation != kBackwardWeights && result.strides[4] != 1) return "pixels do not lie side by side";
  return "";
}

}  // namespace canopy::conv::toeplitz
