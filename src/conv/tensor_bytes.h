// SPDX-License-Identifier: Apache-2.0
// What the limit of the workspace is a share of.
#ifndef CANOPY_CONV_TENSOR_BYTES_H_
#define CANOPY_CONV_TENSOR_BYTES_H_

#include "conv/problem.h"

namespace canopy::conv {

inline constexpr double kWorkspaceShare = 0.15;  // beside 8 MiB for each thread

// Of the tensors that one computation, of no bias, reads and writes.
inline double TensorBytes(const ConvProblem& problem, Computation computation) {
  const Geometry& g = problem.geometry;
  const auto bytes = [](const Operand& operand, int64_t planes, const Extent3& size) {
    double elems = static_cast<double>(planes);
    for (const int64_t extent : size) elems *= static_cast<double>(extent);
    return elems * static_cast<double>(numerics::ElementBytes(operand.dtype));
  };
  const Operand& input = computation == kBackwardData ? problem.input_result : problem.input;
  const Operand& output = computation == kForward ? problem.output_result : problem.output;
  const Operand& weights = computation == kBackwardWeights ? problem.weight_result : problem.weight;
  return bytes(input, g.batch * g.input_channels, g.input_size) +
         bytes(output, g.batch * g.output_channels, g.output_size) +
         bytes(weights, g.output_channels * g.group_input_channels(), g.kernel);
}

}  // namespace canopy::conv

#endif  // CANOPY_CONV_TENSOR_BYTES_H_
