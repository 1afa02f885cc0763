// SPDX-License-Identifier: Apache-2.0
// Winograd's products where kernels are of 3x3, and many for the few tiles of 4x4 results that each meets: what a
// kernel is at the points, or its gradient there, never leaves the L1. The points and their transforms are those of
// kernels/winograd/contract.h.
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

inline constexpr int kFewTilesLanes = 16;   // channels side by side
inline constexpr int kFewTilesSources = 8;  // kernels, of as many channels, that are at the points at once
inline constexpr int kFewTilesOutputs = 4;  // likewise, of gradients of kernels
inline constexpr int kMostFewTiles = 32;
inline constexpr int kSquarePoints = WinogradPoints(2);
inline constexpr int kFewTilesTaps = 9;

// Which tiles have a point.
struct TileRange {
  int32_t first, count;
};

struct FewTilesPoints {
  std::array<TileRange, kSquarePoints> ranges;
  std::array<int32_t, kSquarePoints> order;  // points, those of as many tiles one after another
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

struct FewTilesKernels {
  // sums[(point * tiles + tile) * kFewTilesLanes + l] (+)= sum over s of windows[point][tile][s] * kernel s, l at the
  // point, mirrored along both axes: kernels[s * kernel_step + 9 * l] are its numbers, 0 <= s < kFewTilesSources, 0 <=
  // l < kFewTilesLanes. `points` is working memory of kSquarePoints * kFewTilesSources * kFewTilesLanes floats.
  void (*add_products)(const float* kernels, int64_t kernel_step, const FewTilesNumbers& windows,
                       const FewTilesPoints& at, int64_t tiles, bool accumulate, const FewTilesAsk& ask, float* points,
                       float* sums);

  // to[o * to_step + 9 * l + k] = the gradient of kernel o, l, 0 <= o < kFewTilesOutputs, 0 <= l < kFewTilesLanes: the
  // sum over tiles of outputs[point][tile][o] * inputs[point][tile][l], transformed back to taps k.
  void (*make_gradients)(const FewTilesNumbers& inputs, const FewTilesNumbers& outputs, const FewTilesPoints& at,
                         const FewTilesAsk& ask, float* to, int64_t to_step);
};

// Of the instruction set; nullptr: it has no vectors of kFewTilesLanes numbers, or too few of them.
const FewTilesKernels* FewTiles();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_FEW_TILES_CONTRACT_H_
