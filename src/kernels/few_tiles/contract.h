// SPDX-License-Identifier: Apache-2.0
// Winograd's products where kernels are of 3x3, and many for the few tiles of results that each meets: what a kernel is
// at the points, or its gradient there, never leaves the L2. The points and their transforms are those of
// kernels/winograd/contract.h.
//
// Without a stride all of a kernel meets the same tiles: at 36 points. A stride of 2 parts it, and what it meets, in
// four: the corners, 2x2 taps, at 36 points; the middle of the first and last row, or column, 2 taps, at 6 points along
// the other axis; and the tap in the middle, which is multiplied as it is.
//
// Kernels are as they lie in a contiguous weight tensor: 9 numbers each, those of kFewTilesLanes channels one after
// another. Numbers of windows, and of tiles, stand at
//   numbers[point * point_step + tile * kFewTilesLanes + channel]
// and not every tile has every point: the tiles that have one are neighbours.
#ifndef CANOPY_KERNELS_FEW_TILES_CONTRACT_H_
#define CANOPY_KERNELS_FEW_TILES_CONTRACT_H_

#include <array>
#include <cstdint>

#include "kernels/winograd/contract.h"

namespace canopy::kernels {

inline constexpr int kFewTilesLanes = 16;       // channels side by side
inline constexpr int kMostFewTilesVectors = 2;  // of a panel of so many channels each
inline constexpr int kFewTilesSources = 16;     // kernels, of as many channels, that are at the points at once
inline constexpr int kFewTilesOutputs = 8;      // likewise, of gradients of kernels
inline constexpr int kSquarePoints = WinogradPoints(2);
inline constexpr int kFewTilesTaps = 9;
inline constexpr int kFewTilesKernels = kFewTilesLanes * kFewTilesTaps;  // numbers of kernels of a vector of channels

// Of a kernel: whole, or, with a stride of 2, in this order.
enum FewTilesPartOf : int { kCorners, kMiddleOfRows, kMiddleOfColumns, kMiddle };
inline constexpr int kMostFewTilesParts = 4, kMostFewTilesStride = 2;

// From a point's kernels to the next point's, in floats: an odd number of lines of a cache, so that points share no
// set.
constexpr int FewTilesPointStep(int64_t vectors) {
  return static_cast<int>(kFewTilesSources * vectors + 1) * kFewTilesLanes;
}

// For products with kernels: their taps, and behind these their numbers at a row of points.
constexpr int64_t FewTilesTapFloats(int64_t vectors) { return kFewTilesSources * vectors * kFewTilesKernels; }
constexpr int64_t FewTilesWork(int64_t vectors) {
  return FewTilesTapFloats(vectors) + kWinogradPoints * FewTilesPointStep(vectors);
}

// Which tiles have a point.
struct TileRange {
  int32_t first, count;
};

struct FewTilesPoints {
  int32_t count;  // of points
  std::array<TileRange, kSquarePoints> ranges;
  std::array<int32_t, kSquarePoints> order;  // points row by row, those of as many tiles one after another in each
};

struct FewTilesNumbers {
  const float* numbers;
  int64_t point_step;
};

// Memory to be asked for meanwhile: so many lines of a cache from each of as many rows as there are kernels, so many
// bytes apart.
struct FewTilesAsk {
  const char* first;
  int64_t step;
  int32_t lines;
};

struct FewTilesSums {
  FewTilesNumbers windows;
  const FewTilesPoints* at;
  float* sums;  // [point][tile][vector][lane], points sums_step floats apart
  int64_t sums_step;
};

struct FewTilesProducts {
  FewTilesNumbers inputs, outputs;
  int64_t input_step;  // from inputs of a vector to those of the next, in floats
  const FewTilesPoints* at;
};

// For panels of so many vectors.
struct FewTilesKernels {
  // By the stride. For each part: sums[point][tile][l] (+)= sum over s of windows[point][tile][s] * kernel s, l at the
  // point, mirrored along both axes: kernels[s * kernel_step + 9 * l] are its numbers, 0 <= s < kFewTilesSources, 0 <=
  // l < channels of a panel. `work` is working memory of FewTilesWork(vectors) floats.
  void (*add_products[kMostFewTilesStride + 1])(const float* kernels, int64_t kernel_step, const FewTilesSums* parts,
                                                bool accumulate, const FewTilesAsk& ask, float* work);

  // By the stride. to[o * to_step + 9 * l + k] = the gradient of kernel o, l, 0 <= o < kFewTilesOutputs, 0 <= l <
  // channels of a panel: each part's sum over tiles of outputs[point][tile][o] * inputs[point][tile][l], transformed
  // back to its taps k.
  void (*make_gradients[kMostFewTilesStride + 1])(const FewTilesProducts* parts, const FewTilesAsk& ask, float* to,
                                                  int64_t to_step);
};

// By the vectors, of the instruction set; nullptr: it has no vectors of kFewTilesLanes numbers, or too few of them.
const FewTilesKernels* FewTiles();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_FEW_TILES_CONTRACT_H_
