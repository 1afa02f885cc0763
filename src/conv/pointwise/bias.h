// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_POINTWISE_BIAS_H_
#define CANOPY_CONV_POINTWISE_BIAS_H_

#include <cstdint>

#include "conv/problem.h"
#include "numerics/rounding.h"

namespace canopy::conv::pointwise {

// Adds a channel's bias to some of its results. REQUIRES: the problem has one.
inline void AddBias(const ConvProblem& problem, const Buffers& buffers, int64_t channel, int64_t count,
                    float* results) {
  const numerics::DType dtype = problem.bias.dtype;
  const int64_t offset = channel * problem.bias.strides[1] * numerics::ElementBytes(dtype);
  const float bias = numerics::LoadElement(static_cast<const char*>(buffers.bias) + offset, dtype);
  for (int64_t i = 0; i < count; ++i) results[i] += bias;
}

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_BIAS_H_
