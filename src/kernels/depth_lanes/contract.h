// SPDX-License-Identifier: Apache-2.0
// Both gradients of a depthwise convolution at once, as kernels/joint_planes gives them, but lanes are channels: a
// pixel is a vector, and so is a weight, and a weight's gradient needs no sum over lanes.
#ifndef CANOPY_KERNELS_DEPTH_LANES_CONTRACT_H_
#define CANOPY_KERNELS_DEPTH_LANES_CONTRACT_H_

#include <cstdint>

namespace canopy::kernels {

// Pixels of a plane: the first, and how far to the next row's, next column's.
template <class T>
struct DepthPixels {
  T* first;
  int64_t row, column;
};

// What a kernel asks memory for.
struct DepthAhead {
  const char* from;
  int64_t step;
};

// Every element below is a vector of `lanes` floats, and every step is in floats. With
//   g(y, x, r, s) = g[(y - r)*g_row + (x - s)*lanes],
// 0 <= y < rows, 0 <= x < columns, 0 <= r < the kernel's rows, 0 <= s < its columns,
//   result[y, x] = before[y, x] + sum over r, s of taps[r*tap_row + s*tap_column] * g(y, x, r, s)   where it gives
//   data, sums[r*tap_row + s*tap_column] += sum over y, x of x[y, x] * g(y, x, r, s)                   where it gives
//   weights.
// A result's terms are added by r, then s, with one fused multiply-add each, where the instruction set has it. `before`
// may be the result, or one vector for all pixels. Any alignment, though vectors that straddle cache lines cost twice.
struct DepthCall {
  const float* g;
  int64_t g_row;
  DepthPixels<const float> x, before;
  DepthPixels<float> result;
  int64_t rows, columns;
  const float* taps;
  float* sums;
  int64_t tap_row, tap_column;
  // Where tensors come from memory: results are written past the caches (kernels/streams.h), for a pixel is a whole
  // line.
  bool far;
  // On its way the kernel asks for lines that come next, `step` bytes further with each pixel, unless that is 0: where
  // it is `far` for two at a time of the first two, else with each row for what its pixels stand for, the last one's to
  // be written. Addresses need not be valid.
  DepthAhead ahead[3];
};
using DepthFn = void (*)(const DepthCall& call);

inline constexpr int kMostDepthRows = 7;
inline constexpr int kMostDepthColumns = 14;
inline constexpr int kMostDepthLanes = 16;

enum DepthResults { kDepthBoth, kDepthData, kDepthWeights };

struct DepthKernels {
  int lanes;
  const char* target;  // the instruction set's name

  // By DepthResults, rows and columns, nullptr where the registers do not hold so many.
  DepthFn kernels[3][kMostDepthRows + 1][kMostDepthColumns + 1];
  int most_columns[kMostDepthRows + 1];  // by rows

  // sum[l] += the sum of from[i*lanes + l], 0 <= i < count, 0 <= l < lanes.
  void (*add_up)(const float* from, int64_t count, float* sum);
};

// The kernels for the best instruction set that this processor has.
const DepthKernels& DepthLanes();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_DEPTH_LANES_CONTRACT_H_
