// SPDX-License-Identifier: Apache-2.0
#include "conv/mirrored/mirror.h"

#include <algorithm>
#include <utility>

namespace canopy::conv::mirrored {
namespace {

Operand Exchanged(Operand weight) {
  std::swap(weight.strides[0], weight.strides[1]);
  for (int axis = 2; axis < 5; ++axis) weight.strides[axis] = -weight.strides[axis];
  return weight;
}

// Bytes from the first kernel offset's weight to the last one's.
int64_t LastWeight(const Geometry& g, const Operand& weight) {
  int64_t last = 0;
  for (int axis = 0; axis < 3; ++axis) last += (g.kernel[axis] - 1) * weight.strides[2 + axis];
  return last * numerics::ElementBytes(weight.dtype);
}

}  // namespace

bool HasMirror(const Geometry& g) {
  for (int axis = 0; axis < 3; ++axis) {
    if (g.stride[axis] != 1 || g.pad_begin[axis] > (g.kernel[axis] - 1) * g.dilation[axis]) return false;
  }
  return true;
}

ConvProblem MirrorOf(const ConvProblem& problem) {
  ConvProblem mirror;
  Geometry& g = mirror.geometry;
  g = problem.geometry;
  std::swap(g.input_channels, g.output_channels);
  std::swap(g.input_size, g.output_size);
  for (int axis = 0; axis < 3; ++axis) g.pad_begin[axis] = (g.kernel[axis] - 1) * g.dilation[axis] - g.pad_begin[axis];
  mirror.rule = problem.rule;
  mirror.computations = ((problem.computations & kBackwardData) != 0 ? kForward : 0) |
                        ((problem.computations & kBackwardWeights) != 0 ? kBackwardWeights : 0);
  mirror.has_bias = problem.has_bias;
  mirror.bias = problem.bias;
  mirror.input = problem.output;
  mirror.output = problem.input;
  mirror.output_result = problem.input_result;
  mirror.weight = Exchanged(problem.weight);
  mirror.weight_result = Exchanged(problem.weight_result);
  return mirror;
}

Buffers MirrorOf(const Buffers& buffers, const ConvProblem& problem) {
  const auto last = [&](const Operand& weight) { return LastWeight(problem.geometry, weight); };
  Buffers mirror;
  mirror.input = buffers.output;
  mirror.output = buffers.input;
  mirror.bias = buffers.bias;
  mirror.output_result = buffers.input_result;
  if (buffers.weight != nullptr) {
    mirror.weight = static_cast<const char*>(buffers.weight) + last(problem.weight);
  }
  if (buffers.weight_result != nullptr) {
    mirror.weight_result = static_cast<char*>(buffers.weight_result) + last(problem.weight_result);
  }
  return mirror;
}

}  // namespace canopy::conv::mirrored
