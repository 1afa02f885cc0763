// SPDX-License-Identifier: Apache-2.0
// Windows, or tiles, of a tensor at the points, block of channels by block:
//   numbers[block * block_floats + point * point_step + tile * kFewTilesLanes + channel of the block]
// with 0 for channels that do not exist.
#ifndef CANOPY_CONV_FEW_TILES_TILE_NUMBERS_H_
#define CANOPY_CONV_FEW_TILES_TILE_NUMBERS_H_

#include <vector>

#include "conv/few_tiles/tile_grid.h"
#include "conv/packing/slab.h"

namespace canopy::conv::few_tiles {

class TileNumbers {
 public:
  // What a part's taps meet.
  static TileNumbers OfWindows(const TileGrid& grid, const Part& part, const Operand& tensor);
  // The tiles of the part's positions themselves, as kernels of the windows. REQUIRES: these are all of the tensor's.
  static TileNumbers OfTiles(const TileGrid& grid, const Part& part, const Operand& tensor);

  int64_t slab_floats() const { return (slab_.pixels() + 1) * kernels::kFewTilesLanes; }
  // Transforms a block, of at most kFewTilesLanes channels from `first` on. REQUIRES: `slab` has slab_floats() floats.
  void Make(const LineReader& reader, int64_t first, int64_t channels, const packing::SlabScratch& lines, float* slab,
            float* numbers) const;

 private:
  // Of a tile.
  struct Transform {
    kernels::WinogradInFn run;                            // nullptr: its one pixel is its number
    std::array<int64_t, kernels::kSquarePoints> offsets;  // of its pixels in the slab
  };

  TileNumbers(const TileGrid& grid, const Operand& tensor, const Part& source, bool windows);

  Operand tensor_;
  int64_t point_step_;
  packing::SlabShape slab_;  // of a block
  std::vector<Transform> transforms_;
};

// Those of all parts, one part after another, of block `index` of a group's channels.
struct ChannelBlock {
  int64_t group, group_channels, index;
};
void MakeBlock(const std::vector<TileNumbers>& parts, const std::vector<TileGrid>& grids, const LineReader& reader,
               const ChannelBlock& block, const packing::SlabScratch& lines, float* slab, float* numbers);

}  // namespace canopy::conv::few_tiles

#endif  // CANOPY_CONV_FEW_TILES_TILE_NUMBERS_H_
