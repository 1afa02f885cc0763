// SPDX-License-Identifier: Apache-2.0
// The tiles of a batch of images, cut into bands: boxes of one image's tiles, numbered in reading order. A band's
// pixels are transposed at a time.
#ifndef CANOPY_CONV_WINOGRAD_TILE_BANDS_H_
#define CANOPY_CONV_WINOGRAD_TILE_BANDS_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "conv/problem.h"

namespace canopy::conv::winograd {

struct TileBand {
  int64_t image;
  Extent3 first, count;  // in tiles
};

class TileBands {
 public:
  TileBands() = default;
  // Of images of `grid` tiles each; bands at the far ends may be smaller than `extent`.
  TileBands(int64_t images, const Extent3& grid, const Extent3& extent) : grid_(grid), extent_(extent), count_(images) {
    for (int axis = 0; axis < 3; ++axis) {
      bands_[axis] = base::CeilDiv(grid[axis], extent[axis]);
      count_ *= bands_[axis];
    }
  }

  int64_t count() const { return count_; }
  bool are_images() const { return bands_ == Extent3{1, 1, 1}; }  // whole ones
  const Extent3& extent() const { return extent_; }               // of a whole band

  // REQUIRES: 0 <= index < count().
  TileBand At(int64_t index) const {
    TileBand band;
    for (int axis = 2; axis >= 0; --axis) {
      band.first[axis] = index % bands_[axis] * extent_[axis];
      band.count[axis] = std::min(extent_[axis], grid_[axis] - band.first[axis]);
      index /= bands_[axis];
    }
    band.image = index;
    return band;
  }

 private:
  Extent3 grid_{}, extent_{1, 1, 1}, bands_{};
  int64_t count_ = 0;
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_TILE_BANDS_H_
