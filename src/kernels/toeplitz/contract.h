// SPDX-License-Identifier: Apache-2.0
// Rows of pixels times rows of weights where every pixel of the one row reaches every pixel of the other: products with
// the Toeplitz matrix of a kernel's row, and the sums along the diagonals of rows' outer products. All rows of pixels
// are vectors of `lanes` floats, one behind another.
#ifndef CANOPY_KERNELS_TOEPLITZ_CONTRACT_H_
#define CANOPY_KERNELS_TOEPLITZ_CONTRACT_H_

#include <cstdint>

namespace canopy::kernels {

// results[r*lanes + l] += sum over 0 <= j < columns of source[r*lanes + j] * weights[l - j],
//   0 <= r < rows, 0 <= l < lanes.
// Terms are added to the result in the order of j with one fused multiply-add each, where the instruction set has it.
// weights[1 - columns .. lanes) is read.
struct ToeplitzProductCall {
  const float* weights;
  const float* source;
  float* results;
  int64_t rows;
};
using ToeplitzProductFn = void (*)(const ToeplitzProductCall& call);

// sums[l - i + columns - 1] = the sum over 0 <= r < rows, 0 <= i < columns, 0 <= l < width of a[r*lanes + i] *
// b[r*lanes + l], by r first; 0 behind these up to sums[columns - 1 + lanes). REQUIRES: width <= lanes.
struct ToeplitzSumsCall {
  const float* a;
  const float* b;
  int64_t rows, width;
  float* sums;
};
using ToeplitzSumsFn = void (*)(const ToeplitzSumsCall& call);

inline constexpr int kMostToeplitzColumns = 16;

struct ToeplitzKernels {
  int lanes;
  int most_columns;

  // By columns, from 1 to most_columns.
  ToeplitzProductFn products[kMostToeplitzColumns + 1];
  ToeplitzSumsFn sums[kMostToeplitzColumns + 1];
};

// The kernels for the best instruction set that this processor has.
const ToeplitzKernels& Toeplitz();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_TOEPLITZ_CONTRACT_H_
