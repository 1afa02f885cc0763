// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_KERNEL_ROWS_H_
#define CANOPY_CONV_KERNEL_ROWS_H_

#include <cstdint>

#include "conv/tensor_lines.h"

namespace canopy::conv {

// Writes the kernels of some input channels of one output channel, row by row: `offset` is the first one's element
// (0, 0, 0), and `from` has them densely. Returns where it ended in `from`.
inline const float* StoreKernels(const LineWriter& result, const ConvProblem& problem, int64_t offset, int64_t inputs,
                                 const float* from) {
  const Extent3& kernel = problem.geometry.kernel;
  const auto& strides = problem.weight_result.strides;
  const kernels::Segment row{0, 0, static_cast<int32_t>(kernel[2])};
  for (int64_t c = 0; c < inputs; ++c) {
    for (int64_t kd = 0; kd < kernel[0]; ++kd) {
      for (int64_t kh = 0; kh < kernel[1]; ++kh, from += kernel[2]) {
        result.Store(offset + c * strides[1] + kd * strides[2] + kh * strides[3], &row, 1, strides[4], from);
      }
    }
  }
  return from;
}

// to[c * taps + tap] = the weight of an input channel and a tap, 0 <= c < inputs, where the first is element `offset`.
inline void FetchKernels(const LineReader& weight, const ConvProblem& problem, int64_t offset, int64_t inputs,
                         float* to) {
  const Extent3& kernel = problem.geometry.kernel;
  const auto& strides = problem.weight.strides;
  const int64_t taps = problem.geometry.taps();
  if (strides[3] == kernel[2] * strides[4] && strides[2] == kernel[1] * strides[3]) {  // all taps are one line
    return weight.FetchGrid(offset, strides[1], inputs, strides[4], taps, to);
  }
  for (int64_t c = 0; c < inputs; ++c) {
    for (int64_t kd = 0; kd < kernel[0]; ++kd, to += kernel[1] * kernel[2]) {
      weight.FetchGrid(offset + c * strides[1] + kd * strides[2], strides[3], kernel[1], strides[4], kernel[2], to);
    }
  }
}

}  // namespace canopy::conv

#endif  // CANOPY_CONV_KERNEL_ROWS_H_
