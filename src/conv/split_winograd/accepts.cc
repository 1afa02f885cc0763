// SPDX-License-Identifier: Apache-2.0
// winograd's results, whose products are split_gemm's: of numbers in parts, by a unit that
// multiplies BF16 matrices.
#include <algorithm>
#include <string_view>
#include <vector>

#include "conv/algorithm_steps.h"
#include "conv/winograd/data_step.h"
#include "conv/winograd/weights_shape.h"
#include "kernels/split_gemm/contract.h"

namespace canopy::conv::split_winograd {
namespace {

constexpr int64_t kLeastChannels = 32;  // below, blocks of terms are not filled

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (kernels::SplitGemm(3) == nullptr) return "the processor has no matrix unit, or does not lend it";
  const Geometry& g = problem.geometry;
  if (g.group_input_channels() < kLeastChannels || g.group_output_channels() < kLeastChannels) {
    return "a group has fewer than 32 channels";
  }
  const bool weights = (computation & kBackwardWeights) != 0;
  if (weights || (computation != kForward && computation != kBackwardData)) {
    const std::string_view refusal = winograd::Accepts(problem, computation);
    if (refusal.empty() && weights && winograd::WeightsShape(g).axes > 1) {
      return "weight gradients along two axes have too few tiles for their sums at the points, which memory waits for";
    }
    return refusal;
  }
  const std::vector<winograd::Tiling> tilings = winograd::Tilings(g, computation == kForward);
  const auto serves = [](const winograd::Tiling& tiling) { return Serves(tiling, winograd::Products::kInParts); };
  if (std::none_of(tilings.begin(), tilings.end(), serves)) {
    return "no few terms of 2 to 4 offsets along an axis make up the kernel, or they are dilated too far, or a stride "
           "divides a gradient into phases";
  }
  return "";
}

}  // namespace canopy::conv::split_winograd
