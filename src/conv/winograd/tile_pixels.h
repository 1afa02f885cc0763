// SPDX-License-Identifier: Apache-2.0
// Where the pixels of tiles stand in a slab of one image. Those that are not in it stand where a pixel of zeros
// follows it.
#ifndef CANOPY_CONV_WINOGRAD_TILE_PIXELS_H_
#define CANOPY_CONV_WINOGRAD_TILE_PIXELS_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "conv/channel_lanes/slab.h"
#include "conv/winograd/sizes.h"

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

class TilePixels {
 public:
  TilePixels(const channel_lanes::SlabShape& slab, const TileLattice& lattice)
      : slab_(slab), lattice_(lattice), pixels_(lattice.window[0] * lattice.window[1] * lattice.window[2]) {}

  // Of the pixels in reading order, in floats. Good until the next call.
  const int64_t* At(const Extent3& tile) {
    Side sides[3];
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t begin = lattice_.Begin(axis, tile[axis]), window = lattice_.window[axis];
      // How many pixels lie before pixel `end` of the slab.
      const auto before = [&](int64_t end) {
        return end <= begin ? 0 : std::min(window, base::CeilDiv(end - begin, lattice_.dilation[axis]));
      };
      sides[axis] = {begin, before(0), before(slab_.axes[axis].count)};
    }
    // Neighbours in a row mostly have the same pixels, all moved by as much.
    const bool neighbour = tile[2] == last_[2] + 1 && tile[1] == last_[1] && tile[0] == last_[0] &&
                           sides[2].low == side_.low && sides[2].high == side_.high;
    if (neighbour) {
      const int64_t move = (sides[2].begin - side_.begin) * slab_.panel;
      for (int64_t i = 0; i < pixels_; ++i) offsets_[i] += move & moves_[i];
    } else {
      List(sides);
    }
    last_ = tile;
    side_ = sides[2];
    return offsets_;
  }

 private:
  struct Side {
    int64_t begin, low, high;  // pixels [low, high) of the window are in the slab
  };

  void List(const Side (&sides)[3]) {
    const int64_t panel = slab_.panel, zeros = slab_.PanelFloats();
    const Extent3 &window = lattice_.window, &dilation = lattice_.dilation;
    int64_t i = 0;
    for (int64_t d = 0; d < window[0]; ++d) {
      for (int64_t h = 0; h < window[1]; ++h) {
        const bool row = d >= sides[0].low && d < sides[0].high && h >= sides[1].low && h < sides[1].high;
        const int64_t begin =
            slab_.Pixel(sides[0].begin + d * dilation[0], sides[1].begin + h * dilation[1], sides[2].begin) * panel;
        for (int64_t w = 0; w < window[2]; ++w, ++i) {
          const bool pixel = row && w >= sides[2].low && w < sides[2].high;
          offsets_[i] = pixel ? begin + w * dilation[2] * panel : zeros;
          moves_[i] = pixel ? -1 : 0;
        }
      }
    }
  }

  const channel_lanes::SlabShape& slab_;
  TileLattice lattice_;
  int64_t pixels_;
  Extent3 last_{-1, -1, -1};
  Side side_{};
  int64_t offsets_[kWindow * kWindow], moves_[kWindow * kWindow];  // all bits of those that move
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_TILE_PIXELS_H_
