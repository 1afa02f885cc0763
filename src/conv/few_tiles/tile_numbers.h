// SPDX-License-Identifier: Apache-2.0
// Windows, or tiles, of a tensor at the points, block of channels by block:
//   numbers[((block * points + point) * tiles + tile) * kFewTilesLanes + channel of the block]
// with 0 for channels that do not exist.
#ifndef CANOPY_CONV_FEW_TILES_TILE_NUMBERS_H_
#define CANOPY_CONV_FEW_TILES_TILE_NUMBERS_H_

#include <vector>

#include "conv/few_tiles/tile_grid.h"
#include "conv/packing/slab.h"

namespace canopy::conv::few_tiles {

class TileNumbers {
 public:
  TileNumbers() = default;
  // What products with kernels meet: windows whose first pixels lie so far behind a tile's first position.
  static TileNumbers OfWindows(const TileGrid& grid, const Operand& tensor, const Extent3& size,
                               std::array<int64_t, 2> shift);
  // The tiles themselves, as kernels of the windows.
  static TileNumbers OfTiles(const TileGrid& grid, const Operand& tensor, const Extent3& size);

  int64_t slab_floats() const { return (slab_.pixels() + 1) * kernels::kFewTilesLanes; }
  // Transforms a block, of at most kFewTilesLanes channels from `first` on. REQUIRES: `slab` has slab_floats() floats.
  void Make(const LineReader& reader, int64_t first, int64_t channels, const packing::SlabScratch& lines, float* slab,
            float* numbers) const;

 private:
  TileNumbers(const TileGrid& grid, const Operand& tensor, const Extent3& size, std::array<int64_t, 2> shift,
              int64_t more);

  Operand tensor_;
  packing::SlabShape slab_;                    // of a block
  int64_t more_ = 0;                           // pixels of a window than positions of its tile, along an axis
  std::vector<std::array<int64_t, 2>> sizes_;  // of windows, or tiles, in pixels
  std::vector<std::array<int64_t, kernels::kSquarePoints>> offsets_;  // of their pixels in the slab
};

}  // namespace canopy::conv::few_tiles

#endif  // CANOPY_CONV_FEW_TILES_TILE_NUMBERS_H_
