// SPDX-License-Identifier: Apache-2.0
// What the limit of the workspace is a share of.
#ifndef CANOPY_CONV_TENSOR_BYTES_H_
#define CANOPY_CONV_TENSOR_BYTES_H_

#include "conv/problem.h"

namespace canopy::conv {

inline constexpr double kWorkspaceShare = 0.15;  // beside 8 MiB for each thread

// Of the tensors that one computation reads and writes; what plays the input, the output and the weights in it.
inline double TensorBytes(const Geometry& g, const Operand& input, const Operand& output, const Operand& weights) {
  const auto bytes = [](const Operand& operand, int64_t planes, const Extent3& size) {
    double elems = static_cast<double>(planes);
    for (const int64_t extent : size) elems *= static_cast<double>(extent);
    return elems * static_cast<double>(numerics::ElementBytes(operand.dtype));
  };
  return bytes(input, g.batch * g.input_channels, g.input_size) +
         bytes(output, g.batch * g.output_channels, g.output_size) +
         bytes(weights, g.output_channels * g.group_input_channels(), g.kernel);
}

}  // namespace canopy::conv

#endif  // CANOPY_CONV_TENSOR_BYTES_H_
