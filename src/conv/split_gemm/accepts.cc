// SPDX-License-Identifier: Apache-2.0
// Dense products of FP32, HF32 and FP16 numbers by a unit that multiplies BF16 matrices, each number as a sum of BF16
// ones. Results that these cannot express, of Inf, NaN and numbers that are all tiny, are computed anew without it.
#include <string_view>

#include "conv/algorithm.h"
#include "conv/bias_sums.h"
#include "conv/split_gemm/blocks.h"
#include "conv/split_gemm/weights_step.h"

namespace canopy::conv::split_gemm {
namespace {

constexpr int64_t kLeastChannels = 16;
constexpr int64_t kMostTaps = 1024;  // of what serves in its place

std::string_view RefuseBias(const ConvProblem& problem, Computation bias) {
  const Operand& summed = bias == kBiasFromInput ? problem.input : problem.output;
  if (summed.dtype != numerics::DType::kFloat32 || summed.strides[4] != 1) {
    return "what the bias gradient sums is no FP32 numbers side by side";
  }
  if (bias == kBiasFromInput && problem.geometry.taps() > kMostTapsTogether) {
    return "the bias gradient would be summed from more than 27 offsets";
  }
  return RefuseBiasSums(problem.geometry, bias);
}

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (const auto bias = static_cast<Computation>(computation & (kBiasFromOutput | kBiasFromInput)); bias != 0) {
    if (computation != (kBackwardWeights | bias)) return "it computes bias gradients beside weight gradients only";
    if (const std::string_view refusal = RefuseBias(problem, bias); !refusal.empty()) return refusal;
    computation = kBackwardWeights;
  }
  if (computation != kForward && computation != kBackwardData && computation != kBackwardWeights) {
    return "it computes products of one kind at a time";
  }
  if (kernels::SplitGemm(3) == nullptr) return "the processor has no matrix unit, or does not lend it";
  const bool weights = computation == kBackwardWeights;
  const Operand& source = computation == kForward ? problem.input : problem.output;
  if (PartsOf(problem, source, weights ? problem.input : problem.weight) == 0) {
    return "the numbers are no sums of two or three BF16 numbers";
  }
  const Geometry& g = problem.geometry;
  if (g.group_input_channels() < kLeastChannels || g.group_output_channels() < kLeastChannels) {
    return "a group has fewer than 16 channels";
  }
  if (g.taps() == 0 || g.kernel[0] > kMostTaps || g.kernel[1] > kMostTaps || g.kernel[2] > kMostTaps ||
      g.taps() > kMostTaps) {
    return "the kernel is empty or has more than 1024 offsets";
  }
  const Extent3 &input = g.input_size, &output = g.output_size;
  if (g.batch == 0 || input[0] * input[1] * input[2] == 0 || output[0] * output[1] * output[2] == 0) {
    return "there is nothing to compute";
  }
  return "";
}

}  // namespace canopy::conv::split_gemm
