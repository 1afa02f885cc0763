// SPDX-License-Identifier: Apache-2.0
// The workspace that was promised: a share of the tensors' bytes and so many for each thread.
#ifndef CANOPY_CONV_TENSOR_BYTES_H_
#define CANOPY_CONV_TENSOR_BYTES_H_

#include <algorithm>

#include "conv/problem.h"

namespace canopy::conv {

inline constexpr double kWorkspaceShare = 0.15;
inline constexpr int64_t kThreadBytes = int64_t{8} << 20;
inline constexpr int64_t kBesidesBytes = 1024;  // of it: flags, and what aligns entries
inline constexpr double kNoRoom = 1e30;         // work of what needs more, and is not to be chosen

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

// Where the call is one computation of one thread.
inline double PromisedBytes(const ConvProblem& problem, Computation computation) {
  return static_cast<double>(kThreadBytes) + kWorkspaceShare * TensorBytes(problem, computation);
}

// More work of a step of which one thread needs so many bytes.
inline double WorkOfRoom(const ConvProblem& problem, Computation computation, int64_t bytes) {
  return static_cast<double>(bytes + kBesidesBytes) <= PromisedBytes(problem, computation) ? 0 : kNoRoom;
}

// Bytes of partial results that jobs sum up for themselves, where a thread's scratch may be so large.
inline int64_t MostPartialBytes(const ConvProblem& problem, int64_t scratch_bytes = int64_t{1} << 20) {
  const double left = PromisedBytes(problem, kBackwardWeights) - static_cast<double>(scratch_bytes);
  return static_cast<int64_t>(std::min<double>(kThreadBytes, left));
}

}  // namespace canopy::conv

#endif  // CANOPY_CONV_TENSOR_BYTES_H_
