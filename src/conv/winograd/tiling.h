// SPDX-License-Identifier: Apache-2.0
// How data gradients and forward are cut for Winograd's method. On one axis or two, results are cut into tiles of 4
// whose windows of 6 source pixels meet 3 kernel offsets at a time, or tiles of 3 under 4 offsets. Longer kernels are
// further terms of the product, each meeting windows of its own. On the other axes a tile is one position, and every
// kernel offset a term, which meets the windows of the position's neighbour.
//
// The last tile along an axis has as many results as are left, and a smaller window, of fewer points.
//
// A dilated kernel meets every second pixel, or every third: tiles and windows then are of such pixels, and as many
// tiles, each begun a pixel further than the one before, lie in one another like combs and together leave no gap.
//
// With a stride s, the kernel offsets of one residue are a kernel of their own without stride. Forward, they are a term
// each: its windows are of every s-th pixel. In a data gradient, every s-th result meets those of one residue only, and
// s adjoining results meet the same source pixels; so tiles are of such phases of results, and windows serve all
// phases. The s results are those from a multiple of s on in the tensor, or in the tensor and its padding.
#ifndef CANOPY_CONV_WINOGRAD_TILING_H_
#define CANOPY_CONV_WINOGRAD_TILING_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/checked_math.h"
#include "conv/problem.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::winograd {

struct AxisTiling {
  int64_t tile = 1, window = 1;  // results, and source pixels
  int64_t rest = 1;              // results of the last tile
  int64_t taps = 1, terms = 1;   // kernel offsets of a term; some may lack some
  int64_t kernel = 1;            // offsets
  bool mirrored = false;         // data gradients meet them from the last to the first
  int64_t dilation = 1;          // from each of a tile's results, and a window's pixels, to the next
  int64_t stride = 1;            // forward, where it is not 1: as many terms
  int64_t phases = 1;            // in data gradients, likewise
  int64_t phase_pad = 0;         // padding before the first of the s results of the phases, modulo s

  // Below, results are those of one phase.

  // Tiles that lie in one another; boxes begin with the first of them.
  int64_t comb() const { return window == 1 ? 1 : dilation; }
  int64_t tiles(int64_t results) const { return base::CeilDiv(results, tile * comb()) * comb(); }
  // Of adjoining tiles: the windows for term t of tile i is number i + t * term_step.
  int64_t windows(int64_t tiles) const { return window == 1 ? tiles + (terms - 1) * dilation : tiles * terms; }
  int64_t term_step(int64_t tiles) const { return window == 1 ? dilation : tiles; }
  // The first result of tile `index`, from that of tile 0.
  int64_t TileBegin(int64_t index) const { return index / comb() * comb() * tile + index % comb(); }
  // The first source pixel of window `index`, from that of window 0, and the distance to the next.
  int64_t WindowBegin(int64_t index, int64_t tiles) const {
    if (window == 1) return index;
    return TileBegin(index % tiles) * stride + index / tiles * (stride > 1 ? 1 : taps * dilation);
  }
  int64_t pixel_step() const { return dilation * stride; }
  // From the first source pixel that some of adjoining results meet to behind the last.
  int64_t Reach(int64_t results) const {
    return (results - 1) * stride + (phases > 1 ? taps : (kernel - 1) * dilation + 1);
  }

  // The kernel offset that a tap is, in the order of source pixels; not one of the kernel's where the term lacks it.
  int64_t Offset(int64_t term, int64_t phase, int64_t tap) const {
    if (phases > 1) return (phase + phase_pad) % phases + phases * (taps - 1 - Lag(phase) - tap);
    const int64_t offset = stride > 1 ? term + tap * stride : term * taps + tap;
    return mirrored ? kernel - 1 - offset : offset;
  }
  // How many source pixels before the last phase's first result that of a phase stands.
  int64_t Lag(int64_t phase) const { return (phases - 1 + phase_pad) / phases - (phase + phase_pad) / phases; }
  bool Lacks(int64_t term, int64_t phase, int64_t tap) const {
    const int64_t offset = Offset(term, phase, tap);
    return offset < 0 || offset >= kernel;
  }
  int64_t points() const { return window; }
  // Sets the last tile for so many results of a phase. Tiles that lie in one another end in different places: those,
  // and what a window of the fewest points has, hang over.
  void Fit(int64_t results) {
    rest = tile;
    if (window == 1 || comb() > 1 || results == 0) return;
    rest = std::max(results - (tiles(results) - 1) * tile, kernels::kFewestWinogradPoints + 1 - taps);
  }
  int64_t tile_results(bool last) const { return last ? rest : tile; }
  int64_t window_pixels(bool last) const { return last ? rest + window - tile : window; }
  // Whether the last tile's windows have numbers at a point.
  bool LastHas(int64_t point) const { return point + 1 < window_pixels(true) || point + 1 == points(); }
  // The result, of all phases, that a tile's result `index` is in a phase, from the first of tile 0.
  int64_t Result(int64_t tile, int64_t index, int64_t phase) const {
    return (TileBegin(tile) + index * dilation) * phases + phase;
  }
  // Whether the kernel's number at a point is 0: the first tap alone counts at the first, the last at the last.
  bool Vanishes(int64_t term, int64_t phase, int64_t point) const {
    if (window == 1) return false;
    return (point == 0 && Lacks(term, phase, 0)) || (point + 1 == points() && Lacks(term, phase, taps - 1));
  }
  // Of all phases, terms and points of a tile, those that do not vanish.
  int64_t products(bool last = false) const {
    int64_t count = 0;
    for (int64_t i = 0; i < phases * terms * points(); ++i) {
      const int64_t point = i % points();
      const bool counts = !Vanishes(i / points() % terms, i / points() / terms, point) && (!last || LastHas(point));
      count += counts ? 1 : 0;
    }
    return count;
  }
  // Of the tiles of so many results.
  double Products(int64_t results) const {
    const int64_t count = tiles(results);
    return count == 0 ? 0 : static_cast<double>((count - 1) * products() + products(true));
  }
};

struct Tiling {
  // Of tiles: which of the transformed axes it is the last along.
  static constexpr int kKinds = 4;

  std::array<AxisTiling, 3> axes;
  int transformed = 0;                   // axes
  int64_t tile_side = 0, taps_side = 0;  // along them

  const kernels::WinogradKernels& kernels() const { return kernels::Winograd(transformed); }
  // Of a transformed axis, in the kind of a tile.
  int KindBit(int axis) const {
    int bit = 1;
    for (int inner = axis + 1; inner < 3; ++inner) bit <<= axes[inner].window > 1 ? 1 : 0;
    return bit;
  }
  kernels::WinogradInFn kernel_in() const { return kernels().kernel[transformed == 1 ? 1 : taps_side][taps_side]; }
  kernels::WinogradInFn window_in(int kind) const {
    const Sides sides = SidesOf(kind, &AxisTiling::window_pixels);
    return kernels().input[sides.rows][sides.columns];
  }
  kernels::WinogradOutFn result_out(int kind) const {
    const Sides sides = SidesOf(kind, &AxisTiling::tile_results);
    return kernels().results[taps_side][sides.rows][sides.columns];
  }
  // Which last tiles have no numbers at a point: those whose kind shares a bit.
  int KindsWithout(const Extent3& point) const {
    int bits = 0;
    for (int axis = 0; axis < 3; ++axis) {
      if (axes[axis].window > 1 && !axes[axis].LastHas(point[axis])) bits |= KindBit(axis);
    }
    return bits;
  }
  int64_t terms() const { return axes[0].terms * axes[1].terms * axes[2].terms; }
  int64_t combs() const { return axes[0].comb() * axes[1].comb() * axes[2].comb(); }
  int64_t phases() const { return axes[0].phases * axes[1].phases * axes[2].phases; }
  int64_t points() const { return kernels::WinogradPoints(transformed); }
  int64_t tile() const { return axes[0].tile * axes[1].tile * axes[2].tile; }  // positions
  int64_t window() const { return axes[0].window * axes[1].window * axes[2].window; }
  int64_t taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
  // The phase and the point of each axis.
  Extent3 PhaseAt(int64_t phase) const {
    const int64_t rows = axes[1].phases, columns = axes[2].phases;
    return {phase / (rows * columns), phase / columns % rows, phase % columns};
  }
  Extent3 PointAt(int64_t point) const {
    const int64_t rows = axes[1].points(), columns = axes[2].points();
    return {point / (rows * columns), point / columns % rows, point % columns};
  }
  // Tiles of a phase of a result.
  Extent3 Tiles(const Extent3& results) const {
    return {axes[0].tiles(results[0]), axes[1].tiles(results[1]), axes[2].tiles(results[2])};
  }

 private:
  struct Sides {
    int64_t rows = 1, columns = 1;  // a line has one row
  };
  Sides SidesOf(int kind, int64_t (AxisTiling::*side)(bool) const) const {
    Sides sides;
    for (int axis = 0; axis < 3; ++axis) {
      if (axes[axis].window == 1) continue;
      const int bit = KindBit(axis);
      (bit == 1 ? sides.columns : sides.rows) = (axes[axis].*side)((kind & bit) != 0);
    }
    return sides;
  }
};

inline constexpr int64_t kMostTerms = 9;  // of 3x3x3 kernels along one axis

// Those for a problem's forward, or its data gradient, that have at most kMostTerms terms.
std::vector<Tiling> Tilings(const Geometry& geometry, bool forward);

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_TILING_H_
