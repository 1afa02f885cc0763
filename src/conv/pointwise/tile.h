// SPDX-License-Identifier: Apache-2.0
// Pixels of one call of a tile product. Small planes lie in one row through all images, so that a tile may begin in
// one image and end in the next.
#ifndef CANOPY_CONV_POINTWISE_TILE_H_
#define CANOPY_CONV_POINTWISE_TILE_H_

#include <cstdint>

#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::pointwise {

struct Tile {
  int64_t at, count;    // from the panel's first pixel on
  int64_t split;        // of the first image
  const float* source;  // where they stand, if they are copied from there
  bool in_place;        // or multiplied there
  float* result;        // of the block's first channel
  const float* added;   // likewise, what was summed before
  const kernels::GatherTiles* kernels;
  const void *coming, *results_coming;  // what is worked on in its place after the panel: sources, results

  bool copies() const { return source != nullptr && !in_place; }

  // The kernels by rows. `moved`: results go where they belong, and are added up elsewhere. The jumps lead from behind
  // one image's pixels to the next one's.
  const kernels::GatherGemmFn* Choose(bool copying, bool moved, int64_t source_jump, int64_t result_jump,
                                      kernels::GatherOperands* operands) const {
    const bool two = split < count, parted = copying && (two || count < kernels->lanes);
    if (!parted && !moved) return copying ? kernels->adjacent_copying : kernels->adjacent;
    operands->split = split;
    operands->end = count;
    operands->b_jump = two ? source_jump : 0;
    operands->c_jump = two && moved ? result_jump : 0;
    return copying ? kernels->adjacent_copying_split : kernels->adjacent_split;
  }
};

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_TILE_H_
