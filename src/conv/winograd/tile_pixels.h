// SPDX-License-Identifier: Apache-2.0
// Where the pixels of tiles stand in a slab of one image. Those that are not in it stand where a pixel of zeros
// follows it.
#ifndef CANOPY_CONV_WINOGRAD_TILE_PIXELS_H_
#define CANOPY_CONV_WINOGRAD_TILE_PIXELS_H_

#include <cstdint>

#include "conv/packing/slab.h"

namespace canopy::conv::winograd {

// Tiles of `window` pixels, `dilation` from pixel to pixel; tile 0 begins at pixel `first` of the slab or outside it.
// `comb` tiles begin at neighbouring pixels, the next as many `step` * dilation further.
struct TileLattice {
  Extent3 first, step, window, dilation, comb;

  int64_t Begin(int axis, int64_t tile) const {
    const int64_t begin = first[axis] + tile % comb[axis];
    return begin + tile / comb[axis] * step[axis] * dilation[axis];
  }
};

// Of the pixels of all tiles, tile after tile and each in reading order, in floats. REQUIRES: the slab is of one image,
// its columns side by side.
inline void ListTilePixels(const packing::SlabShape& slab, const TileLattice& lattice, const Extent3& tiles,
                           int64_t* offsets) {
  const Extent3& window = lattice.window;
  const int64_t absent = slab.PanelFloats();
  Extent3 begin;
  const auto inside = [&](int axis, int64_t index, int64_t* pixel) {
    *pixel = begin[axis] + index * lattice.dilation[axis];
    return *pixel >= 0 && *pixel < slab.axes[axis].count;
  };
  for (int64_t tile = 0; tile < tiles[0] * tiles[1] * tiles[2]; ++tile) {
    const Extent3 at{tile / (tiles[1] * tiles[2]), tile / tiles[2] % tiles[1], tile % tiles[2]};
    for (int axis = 0; axis < 3; ++axis) begin[axis] = lattice.Begin(axis, at[axis]);
    int64_t z, y;
    for (int64_t d = 0; d < window[0]; ++d) {
      const bool plane = inside(0, d, &z);
      for (int64_t h = 0; h < window[1]; ++h) {
        const bool row = inside(1, h, &y) && plane;
        const int64_t line = slab.Pixel(z, y, 0) * slab.panel, columns = row ? slab.axes[2].count : 0;
        int64_t x = begin[2];
        for (int64_t w = 0; w < window[2]; ++w, x += lattice.dilation[2]) {
          *offsets++ = x >= 0 && x < columns ? line + x * slab.panel : absent;
        }
      }
    }
  }
}

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_TILE_PIXELS_H_
