// SPDX-License-Identifier: Apache-2.0
// The FP32 tile product whose operands stand in place, for products whose vectors hold channels:
//   c[result_offsets[r] + l] (+)= sum over runs t, i in [0, runs[t].terms) of a(t, i, r) * b[runs[t].b + i * b_step +
//   l]
// with 0 <= r < rows and 0 <= l < lanes, where
//   scattered rows: a(t, i, r) = a[runs[t].a + row_offsets[r] + i]   a row is a pixel, its channels side by side
//   adjacent rows:  a(t, i, r) = a[runs[t].a + i * a_step + r]       the rows are neighbouring channels of a pixel
// Terms are added in the order of t, then i, with one fused multiply-add each into one accumulator an element, started
// at 0; where `accumulate`, the sum is added to c last. So any number of rows gives the same bits for an element.
//
// Tiles of BF16 pairs are the same with pairs for elements: an element of a or b is 32 bits, two BF16 numbers, and a
// term is a(0) * b(0) + a(1) * b(1), added in FP32 to the accumulator by the processor's dot product: in whatever order
// and number of roundings that has, denormals taken for zeros. c is FP32 as ever.
//
// Every number of rows has a kernel of its own: nothing is padded, and only c[result_offsets[r]..+lanes) is written.
#ifndef CANOPY_KERNELS_GATHER_GEMM_CONTRACT_H_
#define CANOPY_KERNELS_GATHER_GEMM_CONTRACT_H_

#include <cstdint>

namespace canopy::kernels {

struct GatherRun {
  int64_t a, b, terms;  // a, b in elements
};

inline constexpr int64_t kTermsAnAsk = 4;

struct GatherOperands {
  const GatherRun* runs;
  int64_t run_count;
  const float* a;
  const int64_t* row_offsets;  // scattered rows only
  int64_t a_step;              // adjacent rows only
  const float* b;
  int64_t b_step;
  float* c;
  const int64_t* result_offsets;
  // Not in split kernels: c is written past the caches. It is whole vectors at multiples of their size,
  // and not accumulated.
  bool streams = false;
  // Copying kernels only: b_copy[i * b_copy_step + l] = b[... + i * b_step + l], i counted through all runs. The copy
  // costs next to nothing beside the product, and later calls read it from the cache.
  float* b_copy = nullptr;
  int64_t b_copy_step = 0;
  // Split kernels only: lanes from `split` to `end` stand b_jump elements further on in b, and c_jump in c; those from
  // `end` on stand nowhere, and are 0 in the copy. What the sums are added to is added[r * added_step + l], all lanes.
  int64_t split = 0, end = 0, b_jump = 0, c_jump = 0;
  const float* added = nullptr;
  int64_t added_step = 0;
  // Not in copying kernels: so many panels of rows one after another, each with a, b and c from a_panel, b_panel and
  // c_panel elements on, row_offsets of scattered rows and result_offsets from offsets_panel entries on, `added` from
  // its next rows on and `ahead` from ahead_panel bytes on. A call takes as long as some tens of terms, a further panel
  // of the same call less than half of that. Tiles of BF16 pairs take a b_panel of 0.
  int64_t panels = 1, a_panel = 0, b_panel = 0, c_panel = 0, offsets_panel = 0, ahead_panel = 0;
  // What a later call reads, brought to the cache meanwhile. A hint: any address will do.
  const void* ahead = nullptr;
  // Adjacent rows: `asks` times after every kTermsAnAsk terms of a run, and after what is left of them, ahead_step
  // bytes apart, for a line a vector, the vectors ahead_line bytes apart.
  int64_t asks = 0, ahead_step = 0, ahead_line = 64;
  // scattered_ahead only: a line a term, the terms ahead_step bytes apart, and after every ahead_terms (at least 1)
  // terms on from ahead_row bytes behind where they began.
  int64_t ahead_terms = 1, ahead_row = 0;
};

using GatherGemmFn = void (*)(const GatherOperands& operands, bool accumulate);

// Tiles of one width.
struct GatherTiles {
  static constexpr int kMostRows = 16;
  int lanes;
  int most_rows;                          // with these the accumulators fill the registers
  GatherGemmFn scattered[kMostRows + 1];  // by the number of rows, from 1 to most_rows
  GatherGemmFn scattered_ahead[kMostRows + 1];
  GatherGemmFn adjacent[kMostRows + 1];
  GatherGemmFn adjacent_copying[kMostRows + 1];
  // With c split, and in copying kernels b too; nullptr where an instruction set has no masks, and from three vectors
  // on.
  GatherGemmFn adjacent_split[kMostRows + 1];
  GatherGemmFn adjacent_copying_split[kMostRows + 1];
};

struct GatherTilesList {
  const GatherTiles* tiles;  // tiles[v - 1] has v vectors
  int count;
  int vector_lanes;

  // Vectors of the widest tile that has as many rows as any.
  int WideAndHigh() const {
    int vectors = count;
    while (vectors > 1 && tiles[vectors - 1].most_rows < tiles[0].most_rows) --vectors;
    return vectors;
  }
};

// The tiles for the best instruction set that this processor has.
GatherTilesList AllGatherTiles();

// The fastest tiles of BF16 pairs, with vectors as wide as those; `count` is 0 where the processor, or a test, has no
// such instructions.
GatherTilesList PairGatherTiles();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_GATHER_GEMM_CONTRACT_H_
