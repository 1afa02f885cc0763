// SPDX-License-Identifier: Apache-2.0
// All gradients of one pass over the output's, held to the definition.
#ifndef CANOPY_TESTS_CONV_JOINT_GRADIENTS_H_
#define CANOPY_TESTS_CONV_JOINT_GRADIENTS_H_

#include <array>
#include <string>
#include <vector>

#include "tests/conv/algorithm_run.h"
#include "tests/conv/expected.h"

namespace canopy::conv {

inline constexpr uint8_t kAllGradients = kBackwardData | kBackwardWeights | kBiasFromOutput;

// What is asked of a joint pass.
inline constexpr uint8_t kJointSets[] = {kAllGradients, kBackwardData | kBackwardWeights, kBackwardData,
                                         kBackwardWeights};

inline std::vector<double> SumsOfChannels(const Tensor& tensor) {
  std::vector<double> sums(static_cast<size_t>(tensor.dims[1]));
  ForEach(tensor.dims, [&](const std::array<int64_t, 5>& at) { sums[at[1]] += tensor.Get(at); });
  return sums;
}

// The bias gradient.
inline std::vector<double> BiasOf(const Case& c) { return SumsOfChannels(c.output); }

// `data_tolerance`: of the input's gradient, whose type may not hold the sums.
inline void ExpectGradients(const Case& c, uint8_t wanted, double tolerance, double data_tolerance,
                            const std::string& trace) {
  const Sums expected = Expected(c);
  if (wanted & kBackwardData) ExpectNear("backward data", c.input_result, expected.input, data_tolerance, trace);
  if (wanted & kBackwardWeights) ExpectNear("backward weights", c.weight_result, expected.weight, tolerance, trace);
  if (wanted & kBiasFromOutput) ExpectNear("bias gradient", c.bias_result, BiasOf(c), tolerance, trace);
}

// All gradients are finite, infinite or NaN where the definition's are.
inline void ExpectGradientClasses(const Case& c, const std::string& trace) {
  const Sums expected = Expected(c);
  ExpectSameClasses(c.input_result, expected.input, trace + " backward data");
  ExpectSameClasses(c.weight_result, expected.weight, trace + " backward weights");
  ExpectSameClasses(c.bias_result, BiasOf(c), trace + " bias gradient");
}

}  // namespace canopy::conv

#endif  // CANOPY_TESTS_CONV_JOINT_GRADIENTS_H_
