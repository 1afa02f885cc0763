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

// The same product where b is not packed: a sum over taps, each a dense block of `depth` terms,
//   c[r][l] (+)= sum over taps t, i in [0, depth) of a[taps[t].a + i * rows + r] * b[taps[t].b + i * b_stride + l]
// in the order of t, then i. b may have any alignment.
struct GemmTap {
  int64_t a, b;  // elements
};

struct GemmTapsOperands {
  const GemmTap* taps;
  int64_t tap_count;
  int64_t depth;
  const float* a;
  const float* b;
  int64_t b_stride;
};

using GemmTapsFn = void (*)(const GemmTapsOperands& operands, float* c, bool accumulate);

// The same product where the rows stand unpacked, each at an offset of its own:
//   c[r][l] (+)= sum over i in [0, depth) of a[row_offsets[r] + i] * b[i * lanes + l]
// in the order of i; b as for GemmTileFn.
using GemmRowsFn = void (*)(int64_t depth, const float* a, const int64_t* row_offsets, const float* b, float* c,
                            bool accumulate);

struct GemmTile {
  int rows;
  int lanes;
  double efficiency;  // share of the FMA peak that it reached where it was measured, all operands in cache
  GemmTileFn run;
  GemmTapsFn run_taps;
  GemmRowsFn run_rows;
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
