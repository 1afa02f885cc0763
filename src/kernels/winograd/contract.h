// SPDX-License-Identifier: Apache-2.0
// Winograd's transforms over the six points 0, a, -a, b, -b and infinity, along both axes of a square or along a line.
// A correlation of a 6x6 window with a kernel of 2x2, 3x3, 4x4 or 5x5 gives 5x5, 4x4, 3x3 or 2x2 results, and all are
// 36 products of numbers that belong to pairs of points:
//   results(input(6x6 window) * kernel(kxk kernel))[y][x] = sum window[y+i][x+j] * kernel[i][j]
// Along a line, likewise, 6 products take a window of 6 and a kernel of k to 7 - k results.
//
// Fewer results need a smaller window and as many points fewer along that axis: of 5, 4 or 3 points -b, b and -a are
// left out, in this order. A kernel's numbers at the others are the same.
//
// The products may be summed over channels, or tiles, before they are transformed back. All of it is exact but for
// rounding: padding's zeros and whatever is not finite spread over the whole tile.
//
// Lanes are channels, and each lane is on its own. Element e = i * columns + j of a rectangle, or e = j of a line,
// stands at tile[offsets[e] + c], one of the numbers of points e = 6 * i + j, or j, at points[e * step + c], 0 <= c <
// count; points that are left out have no number. Offsets may coincide: elements that do not exist are read from one
// line of zeros, and written to one that nobody reads.
#ifndef CANOPY_KERNELS_WINOGRAD_CONTRACT_H_
#define CANOPY_KERNELS_WINOGRAD_CONTRACT_H_

#include <cstdint>

namespace canopy::kernels {

inline constexpr int kWinogradPoints = 6, kFewestWinogradPoints = 3;  // of an axis
// Of a line (one axis) or a square (two).
constexpr int WinogradPoints(int axes) { return axes == 1 ? kWinogradPoints : kWinogradPoints * kWinogradPoints; }
// `count` is a multiple of a vector's lanes, so no transform has a tail; this is one on every instruction set.
inline constexpr int kWinogradLanes = 16;

// A window or kernel to its numbers at the points. Steps that are multiples of 4096 bytes are slow: the lines of all
// points then share one set of the L1.
using WinogradInFn = void (*)(const float* tile, const int64_t* offsets, int64_t count, float* points, int64_t step);

// Sums of products at the points to results.
using WinogradOutFn = void (*)(const float* points, int64_t step, int64_t count, float* tile, const int64_t* offsets);

// A point's product where a kernel's numbers fit the registers: kWinogradLanes source and as many result channels.
//   sums[r * kWinogradLanes + l] = sum over k of windows[offsets[r] + k] * kernel[k * kWinogradLanes + l]
// for 0 <= r < rows and 0 <= k, l < kWinogradLanes, with one fused multiply-add a term in the order of k, from 0 on.
using WinogradProductFn = void (*)(const float* windows, const float* kernel, const int64_t* offsets, int64_t rows,
                                   float* sums);

inline constexpr int kLeastWinogradKernel = 2, kMostWinogradKernel = 5;

// Of the instruction set; nullptr: the registers do not hold a kernel.
WinogradProductFn WinogradProduct();

// Of squares, or of lines, by the number of rows, 1 in a line, and columns. nullptr where they make up no window.
struct WinogradKernels {
  static constexpr int kMost = kMostWinogradKernel + 1;

  WinogradInFn input[kWinogradPoints + 1][kWinogradPoints + 1];  // of a window's pixels: B^T d B, or B^T d
  WinogradInFn kernel[kMost][kMost];                             // of its elements, at all points: G g G^T, or G g
  WinogradOutFn results[kMost][kMost][kMost];  // by the kernel's elements an axis, then of results: A^T m A, or A^T m
};

// The kernels for the best instruction set that this processor has, along one axis or two.
const WinogradKernels& Winograd(int axes);

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_WINOGRAD_CONTRACT_H_
