// SPDX-License-Identifier: Apache-2.0
// Winograd's transforms over the six points 0, a, -a, b, -b and infinity, along both axes of a square: a correlation of
// a 6x6 window with a 3x3 kernel gives 4x4 results, one with a 4x4 kernel 3x3, and both are 36 products of numbers that
// belong to pairs of points:
//   4x4 results = result(input(6x6 window) * weight(3x3 kernel))            results[y][x] = sum window[y+i][x+j] *
//   3x3 results = weight_result(input(6x6 window) * gradient(4x4 kernel))                     kernel[i][j]
// The 36 products may be summed over channels, or tiles, before they are transformed back. All of it is exact but for
// rounding: padding's zeros and whatever is not finite spread over the whole tile.
//
// Lanes are channels, and each lane is on its own. Element e = i * n + j of an n x n square stands at
// square[offsets[e] + c], one of the 36 numbers of points e = 6 * i + j at points[e * step + c], 0 <= c < count.
// Offsets may coincide: elements that do not exist are read from one line of zeros, and written to one that nobody
// reads.
#ifndef CANOPY_KERNELS_WINOGRAD_CONTRACT_H_
#define CANOPY_KERNELS_WINOGRAD_CONTRACT_H_

#include <cstdint>

namespace canopy::kernels {

inline constexpr int kWinogradPoints = 36;
// `count` is a multiple of a vector's lanes, so no transform has a tail; this is one on every instruction set.
inline constexpr int kWinogradLanes = 16;

// A square to its numbers at the points. Steps that are multiples of 4096 bytes are slow: all 36 lines then share one
// set of the L1.
using WinogradInFn = void (*)(const float* square, const int64_t* offsets, int64_t count, float* points, int64_t step);

// Sums of products at the points to a square.
using WinogradOutFn = void (*)(const float* points, int64_t step, int64_t count, float* square, const int64_t* offsets);

struct WinogradKernels {
  WinogradInFn input;           // 36 offsets: B^T d B
  WinogradInFn weight;          // 9 offsets: G g G^T
  WinogradInFn gradient;        // 16 offsets, likewise for 4x4
  WinogradOutFn result;         // 16 offsets: A^T m A
  WinogradOutFn weight_result;  // 9 offsets, likewise for 3x3
};

// The kernels for the best instruction set that this processor has.
const WinogradKernels& Winograd();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_WINOGRAD_CONTRACT_H_
