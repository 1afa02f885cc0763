// SPDX-License-Identifier: Apache-2.0
// How data gradients and forward are cut for Winograd's method. On one axis or two, results are cut into tiles of 4
// whose windows of 6 source pixels meet 3 kernel offsets at a time, or tiles of 3 under 4 offsets. Longer kernels are
// further terms of the product, each meeting windows of its own. On the other axes a tile is one position, and every
// kernel offset a term, which meets the windows of the position's neighbour.
//
// A dilated kernel meets every second pixel, or every third: tiles and windows then are of such pixels, and as many
// tiles, each begun a pixel further than the one before, lie in one another like combs and together leave no gap.
#ifndef CANOPY_CONV_WINOGRAD_TILING_H_
#define CANOPY_CONV_WINOGRAD_TILING_H_

#include <array>
#include <cstdint>
#include <vector>

#include "base/checked_math.h"
#include "conv/problem.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::winograd {

struct AxisTiling {
  int64_t tile = 1, window = 1;  // results, and source pixels
  int64_t taps = 1, terms = 1;   // kernel offsets of a term; the last term may lack some
  int64_t dilation = 1;          // from each of a tile's results, and a window's pixels, to the next

  // Tiles that lie in one another; boxes begin with the first of them.
  int64_t comb() const { return window == 1 ? 1 : dilation; }
  int64_t tiles(int64_t results) const { return base::CeilDiv(results, tile * comb()) * comb(); }
  // Of adjoining tiles: the windows for term t of tile i is number i + t * term_step.
  int64_t windows(int64_t tiles) const { return window == 1 ? tiles + (terms - 1) * dilation : tiles * terms; }
  int64_t term_step(int64_t tiles) const { return window == 1 ? dilation : tiles; }
  // The first result of tile `index`, from that of tile 0.
  int64_t TileBegin(int64_t index) const { return index / comb() * comb() * tile + index % comb(); }
  // The first source pixel of window `index`, from that of window 0.
  int64_t WindowBegin(int64_t index, int64_t tiles) const {
    return window == 1 ? index : TileBegin(index % tiles) + index / tiles * taps * dilation;
  }
};

struct Tiling {
  std::array<AxisTiling, 3> axes;
  int transformed = 0;                   // axes
  int64_t tile_side = 0, taps_side = 0;  // along them

  const kernels::WinogradKernels& kernels() const { return kernels::Winograd(transformed); }
  kernels::WinogradInFn kernel_in() const { return kernels().kernel[taps_side]; }
  kernels::WinogradOutFn result_out() const { return kernels().results[tile_side]; }
  int64_t terms() const { return axes[0].terms * axes[1].terms * axes[2].terms; }
  int64_t points() const { return kernels::WinogradPoints(transformed); }
  int64_t tile() const { return axes[0].tile * axes[1].tile * axes[2].tile; }  // positions
  int64_t window() const { return axes[0].window * axes[1].window * axes[2].window; }
  int64_t taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
  // Tiles of a result.
  Extent3 Tiles(const Extent3& results) const {
    return {axes[0].tiles(results[0]), axes[1].tiles(results[1]), axes[2].tiles(results[2])};
  }
};

inline constexpr int64_t kMostTerms = 8;

// Those for a kernel that have at most kMostTerms terms.
std::vector<Tiling> Tilings(const Extent3& kernel, const Extent3& dilation);

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_TILING_H_
