// SPDX-License-Identifier: Apache-2.0
// Bias gradients beside weight gradients: sums of the channels that these multiply, made while the cache has them. Of
// FP32 numbers that are not rounded.
#ifndef CANOPY_CONV_POINTWISE_WEIGHTS_BIAS_H_
#define CANOPY_CONV_POINTWISE_WEIGHTS_BIAS_H_

#include <string_view>

#include "conv/pointwise/weights_asks.h"
#include "conv/problem.h"

namespace canopy::conv::pointwise {

// Why weights' products do not meet each number of the output, or the transposed problem's input, as it is; or nothing.
std::string_view RefuseBias(const ConvProblem& problem, Computation bias);

// sums[r] += channel r of a piece, whose rows and images lie so far apart.
void AddRowSums(const float* from, int64_t stride, int64_t rows, const PieceSpan& span, int64_t image_stride,
                double* sums);

// sums[l] += lane l of [term][lane], lanes of one panel.
void AddLaneSums(const float* panel, int64_t width, int64_t terms, int64_t lanes, double* sums);

// Stores the sums of all segments, [segment][channel][tap].
void StoreBiasSums(const ConvProblem& problem, const Buffers& buffers, int64_t segments, int64_t taps, bool serial,
                   const double* sums);

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_WEIGHTS_BIAS_H_
