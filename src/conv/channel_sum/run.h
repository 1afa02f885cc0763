// SPDX-License-Identifier: Apache-2.0
// FP32 sums of at most 512 elements in interleaved accumulators, added up in double.
#ifndef CANOPY_CONV_CHANNEL_SUM_RUN_H_
#define CANOPY_CONV_CHANNEL_SUM_RUN_H_

#include "conv/problem.h"

namespace canopy::conv::channel_sum {

void RunChannelSum(const ConvProblem& problem, Computation computation, const Buffers& buffers, bool serial) noexcept;

}  // namespace canopy::conv::channel_sum

#endif  // CANOPY_CONV_CHANNEL_SUM_RUN_H_
