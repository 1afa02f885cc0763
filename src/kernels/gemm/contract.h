// SPDX-License-Identifier: Apache-2.0
// The FP32 tile product, the engine's inner loop:
//   c[r][l] (+)= sum over i in [0, depth) of a[i][r] * b[i][l],   0 <= r < rows, 0 <= l < lanes
// Terms are added in the order of i with one fused multiply-add each, into one accumulator an element, started at 0;
// where `accumulate`, the sum is added to c last. So every tile shape gives the same bits for the same element.
//
// No tails: panels are packed to whole tiles. a is depth x rows, b is depth x lanes, c is rows x lanes, all dense;
// b and c aligned to 64 bytes. depth may be 0.
#ifndef CANOPY_KERNELS_GEMM_CONTRACT_H_
#define CANOPY_KERNELS_GEMM_CONTRACT_H_

#include <cstdint>

namespace canopy::kernels {

using GemmTileFn = void (*)(int64_t depth, const float* a, const float* b, float* c, bool accumulate);

struct GemmTile {
  int rows;
  int lanes;
  double efficiency;  // share of the FMA peak that it reached where it was measured, all operands in cache
  GemmTileFn run;
};

struct GemmTileList {
  const GemmTile* tiles;  // best for large problems first
  int count;
  const char* target;  // the instruction set's name
};

// The tiles for the best instruction set that this processor has.
GemmTileList GemmTiles();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_GEMM_CONTRACT_H_
