// SPDX-License-Identifier: Apache-2.0
// Tiles of BF16 pairs, by what multiplies them. `count` is 0 where this process has none.
#ifndef CANOPY_KERNELS_GATHER_GEMM_BF16_H_
#define CANOPY_KERNELS_GATHER_GEMM_BF16_H_

#include "kernels/gather_gemm/contract.h"

namespace canopy::kernels {

// Dot products of vectors' pairs.
GatherTilesList VectorPairTiles();

// Intel's matrix unit. Widths of up to four vectors; every tile has 16 rows, and takes as long with fewer terms
// than 16.
GatherTilesList MatrixPairTiles();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_GATHER_GEMM_BF16_H_
