// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_POINTWISE_BIAS_H_
#define CANOPY_CONV_POINTWISE_BIAS_H_

#include <cstdint>

#include "conv/elements.h"

namespace canopy::conv::pointwise {

// Adds a channel's bias to some of its results. REQUIRES: the problem has one.
inline void AddBias(const ConvProblem& problem, const Buffers& buffers, int64_t channel, int64_t count,
                    float* results) {
  const float bias = LoadBias(problem, buffers, channel);
  for (int64_t i = 0; i < count; ++i) results[i] += bias;
}

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_BIAS_H_
