// SPDX-License-Identifier: Apache-2.0
// Where the pixels of tiles stand in a slab of one image. Those that are not in it stand where a pixel of zeros
// follows it.
#ifndef CANOPY_CONV_WINOGRAD_TILE_PIXELS_H_
#define CANOPY_CONV_WINOGRAD_TILE_PIXELS_H_

#include <algorithm>
#include <cstdint>

#include "conv/channel_lanes/slab.h"
#include "conv/winograd/sizes.h"

namespace canopy::conv::winograd {

class TilePixels {
 public:
  // Tiles of `window` pixels, `step` from tile to tile; tile 0 begins at pixel `first` of the slab or outside it.
  TilePixels(const channel_lanes::SlabShape& slab, const Extent3& first, const Extent3& step, const Extent3& window)
      : slab_(slab), first_(first), step_(step), window_(window), pixels_(window[0] * window[1] * window[2]) {}

  // Of the pixels in reading order, in floats. Good until the next call.
  const int64_t* At(const Extent3& tile) {
    Side sides[3];
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t begin = first_[axis] + tile[axis] * step_[axis];
      sides[axis].begin = begin;
      sides[axis].low = std::clamp<int64_t>(-begin, 0, window_[axis]);
      sides[axis].high = std::clamp<int64_t>(slab_.axes[axis].count - begin, sides[axis].low, window_[axis]);
    }
    // Neighbours in a row mostly have the same pixels, all moved by as much.
    const bool neighbour = tile[2] == last_[2] + 1 && tile[1] == last_[1] && tile[0] == last_[0] &&
                           sides[2].low == side_.low && sides[2].high == side_.high;
    if (neighbour) {
      for (int64_t i = 0; i < pixels_; ++i) offsets_[i] += moves_[i];
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
    const int64_t panel = slab_.panel, move = step_[2] * panel, zeros = slab_.PanelFloats();
    int64_t i = 0;
    for (int64_t d = 0; d < window_[0]; ++d) {
      for (int64_t h = 0; h < window_[1]; ++h) {
        const bool row = d >= sides[0].low && d < sides[0].high && h >= sides[1].low && h < sides[1].high;
        const int64_t begin = slab_.Pixel(sides[0].begin + d, sides[1].begin + h, sides[2].begin) * panel;
        for (int64_t w = 0; w < window_[2]; ++w, ++i) {
          const bool pixel = row && w >= sides[2].low && w < sides[2].high;
          offsets_[i] = pixel ? begin + w * panel : zeros;
          moves_[i] = pixel ? move : 0;
        }
      }
    }
  }

  const channel_lanes::SlabShape& slab_;
  Extent3 first_, step_, window_;
  int64_t pixels_;
  Extent3 last_{-1, -1, -1};
  Side side_{};
  int64_t offsets_[kWindow * kWindow], moves_[kWindow * kWindow];
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_TILE_PIXELS_H_
