// SPDX-License-Identifier: Apache-2.0
// Kernels whose offsets meet pixels of their own, over whole planes: plain matrix products.
#include <string_view>

#include "conv/bias_sums.h"
#include "conv/packing/planes.h"
#include "conv/pointwise/unfolded.h"

namespace canopy::conv::pointwise {

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (const auto bias = static_cast<Computation>(computation & (kBiasFromOutput | kBiasFromInput)); bias != 0) {
    if (computation != (kBackwardWeights | bias)) return "it computes bias gradients beside weight gradients only";
    if (!problem.MultipliesPlain()) return "the bias gradient is not rounded";
    if (const std::string_view refusal = RefuseBiasSums(problem.geometry, bias); !refusal.empty()) return refusal;
    computation = kBackwardWeights;
  }
  if ((computation & (computation - 1)) != 0) return "it computes products of one kind at a time";
  const Geometry& g = problem.geometry;
  if (!Unfolds(g)) return "kernel offsets meet the same pixels, or the padding";
  const bool weights = computation == kBackwardWeights, forward = computation == kForward;
  if (!WeightsUnfold(g, weights ? problem.weight_result : problem.weight)) return "weights do not lie in order";
  if (g.kernel[2] > kMostBundle) return "the kernel is too wide";
  if (packing::HasStride(g)) {
    // The input's rows are picked apart where they are packed, or put together where they are stored.
    const bool packed = weights || forward || packing::PlanesRun(problem.input_result, g.input_size);
    const Operand& output = forward ? problem.output_result : problem.output;
    return packed && packing::PlanesRun(output, g.output_size) ? "" : "pixels do not lie side by side";
  }
  const Operand& left = weights ? problem.input : forward ? problem.input : problem.output;
  const Operand& right = weights ? problem.output : forward ? problem.output_result : problem.input_result;
  if (!packing::PlanesRun(left, g.input_size) || !packing::PlanesRun(right, g.input_size)) {
    return "pixels do not lie side by side";
  }
  return "";
}

}  // namespace canopy::conv::pointwise
