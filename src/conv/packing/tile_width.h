// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_PACKING_TILE_WIDTH_H_
#define CANOPY_CONV_PACKING_TILE_WIDTH_H_

#include <cstdint>

#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::packing {

// Vectors of the widest tile that takes so many rows at once, or of the highest of those of two vectors or more.
inline int TileWidth(const kernels::GatherTilesList& list, int64_t rows) {
  int vectors = list.count;
  while (vectors > 2 && list.tiles[vectors - 1].most_rows < rows) --vectors;
  return vectors;
}

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_TILE_WIDTH_H_
