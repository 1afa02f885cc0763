// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_FEW_TILES_ESTIMATES_H_
#define CANOPY_CONV_FEW_TILES_ESTIMATES_H_

#include "conv/few_tiles/tile_numbers.h"

namespace canopy::conv::few_tiles {

// In units of Step::Work.
inline constexpr double kWorkATransform = 300;  // of a tile or window of one block of channels
inline constexpr double kWorkASlabElem = 1.3;

inline double TransformWork(const TileNumbers& numbers, const TileGrid& grid, int64_t blocks) {
  return static_cast<double>(blocks) * (kWorkATransform * static_cast<double>(grid.count()) +
                                        kWorkASlabElem * static_cast<double>(numbers.slab_floats()));
}

}  // namespace canopy::conv::few_tiles

#endif  // CANOPY_CONV_FEW_TILES_ESTIMATES_H_
