// SPDX-License-Identifier: Apache-2.0
// A part's positions in all images cut into tiles, and which points of kernels/winograd/contract.h each has: the
// smaller a tile's window, the fewer. Along an axis on which the part has one tap, a tile is one position.
#ifndef CANOPY_CONV_FEW_TILES_TILE_GRID_H_
#define CANOPY_CONV_FEW_TILES_TILE_GRID_H_

#include <array>
#include <cstdint>
#include <vector>

#include "conv/few_tiles/parts.h"
#include "kernels/few_tiles/contract.h"

namespace canopy::conv::few_tiles {

// Of positions of an image: rows, then columns.
struct Tile {
  int64_t image;
  std::array<int64_t, 2> first, size;  // one may have a position that does not exist
};

// Along an axis of a part, without listing them.
int64_t TileCount(const AxisPart& part);

class TileGrid {
 public:
  TileGrid(int64_t batch, const Part& part);

  int64_t count() const { return static_cast<int64_t>(tiles_.size()); }
  const std::vector<Tile>& tiles() const { return tiles_; }
  const kernels::FewTilesPoints& points() const { return points_; }
  // Whether windows are transformed along rows (0) or columns (1).
  bool transformed(int axis) const { return taps_[axis] > 1; }
  // Of a window.
  int64_t pixels(const Tile& tile, int axis) const { return tile.size[axis] + taps_[axis] - 1; }
  int64_t taps() const { return std::max(taps_[0], taps_[1]); }  // along an axis that is transformed
  // Pairs of a tile and a point that it has.
  int64_t products() const;
  // Where numbers of a block of channels stand as the kernels want them.
  // An odd number of lines of a cache from point to point, so that points share no set of it.
  int64_t point_step() const { return (count() | 1) * kernels::kFewTilesLanes; }
  int64_t block_floats() const { return points_.count * point_step(); }

 private:
  bool Has(const Tile& tile, int32_t point) const;

  std::array<int64_t, 2> taps_;
  std::vector<Tile> tiles_;
  kernels::FewTilesPoints points_{};
};

// Of all parts.
int64_t BlockFloats(const std::vector<TileGrid>& grids);
int64_t Products(const std::vector<TileGrid>& grids);

}  // namespace canopy::conv::few_tiles

#endif  // CANOPY_CONV_FEW_TILES_TILE_GRID_H_
