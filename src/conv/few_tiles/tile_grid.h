// SPDX-License-Identifier: Apache-2.0
// An image's positions cut into tiles of 4x4, the last ones along an axis with as many as are left, and which points of
// kernels/winograd/contract.h each has: the smaller a tile's window, the fewer.
#ifndef CANOPY_CONV_FEW_TILES_TILE_GRID_H_
#define CANOPY_CONV_FEW_TILES_TILE_GRID_H_

#include <array>
#include <cstdint>
#include <vector>

#include "base/checked_math.h"
#include "conv/problem.h"
#include "kernels/few_tiles/contract.h"

namespace canopy::conv::few_tiles {

inline constexpr int64_t kSide = 4, kKernel = 3;  // of a tile, and of the kernels

// Of positions of an image: rows, then columns.
struct Tile {
  int64_t image;
  std::array<int64_t, 2> first, size;
};

// So many, without listing them. REQUIRES: none of these is 0.
constexpr int64_t TileCount(int64_t batch, const Extent3& size) {
  return batch * base::CeilDiv(size[1], kSide) * base::CeilDiv(size[2], kSide);
}

class TileGrid {
 public:
  // REQUIRES: one depth, TileCount() of at most kMostFewTiles.
  TileGrid(int64_t batch, const Extent3& size);

  int64_t count() const { return static_cast<int64_t>(tiles_.size()); }
  const std::vector<Tile>& tiles() const { return tiles_; }
  const kernels::FewTilesPoints& points() const { return points_; }
  // Pairs of a tile and a point that it has.
  int64_t products() const;
  // From a channel's block to the next one's where numbers stand as the kernels want them.
  int64_t block_floats() const { return kernels::kSquarePoints * point_step(); }
  int64_t point_step() const { return count() * kernels::kFewTilesLanes; }

 private:
  std::vector<Tile> tiles_;
  kernels::FewTilesPoints points_{};
};

}  // namespace canopy::conv::few_tiles

#endif  // CANOPY_CONV_FEW_TILES_TILE_GRID_H_
