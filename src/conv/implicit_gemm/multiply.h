// SPDX-License-Identifier: Apache-2.0
// The blocked product of one job: a block of row panels times a block of lane panels over a range of depth, tile by
// tile, into a block of result tiles that stays in the cache.
#ifndef CANOPY_CONV_IMPLICIT_GEMM_MULTIPLY_H_
#define CANOPY_CONV_IMPLICIT_GEMM_MULTIPLY_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/gemm/contract.h"
#include "kernels/lines/contract.h"

namespace canopy::conv::implicit_gemm {

inline constexpr int64_t kMostRowPanels = 64;  // of a job

// Sums of one tile call have at most Blocking::depth terms and at most kBlocksASum of them are added up before a
// further level is opened, so that FP32 stays accurate over millions of terms.
inline constexpr int64_t kBlocksASum = 32;

struct Blocking {
  int64_t depth = 1;        // terms of one tile call
  int64_t row_panels = 1;   // of one job
  int64_t lane_panels = 1;  // of one job
};

// One thread's working memory, all aligned to 64 bytes.
struct JobScratch {
  float* rows;      // Blocking.row_panels * tile.rows * Blocking.depth
  float* lanes;     // tile.lanes * Blocking.depth, plus slack
  float* tiles;     // row_panels * lane_panels * tile.rows * tile.lanes
  float* deep;      // as tiles; nullptr where no job is deep enough to need it
  float* lines[4];  // a line each, of the longer of depth and tile.lanes
  kernels::Segment* segments;
};

struct JobRange {
  int64_t row_panels, lane_panels;
  int64_t depth_begin, depth_end;
};

// Tile (lane panel l, row panel r) of the result lies at tiles + (l * row_panels + r) * rows * lanes.
// `row_panel(r, k, count, scratch)` and `lane_panel(l, k, count, scratch)` return the panel's terms [k, k + count),
// packed into `scratch` or standing elsewhere.
template <class RowPanel, class LanePanel>
void MultiplyJob(const kernels::GemmTile& tile, const Blocking& blocking, const JobRange& range,
                 const JobScratch& scratch, const RowPanel& row_panel, const LanePanel& lane_panel) {
  const int64_t tile_elems = int64_t{tile.rows} * tile.lanes;
  const int64_t block_elems = range.row_panels * range.lane_panels * tile_elems;
  const float* rows[kMostRowPanels];
  int64_t blocks = 0;
  bool deep = false;
  for (int64_t k = range.depth_begin; k < range.depth_end; k += blocking.depth, ++blocks) {
    const int64_t count = std::min(blocking.depth, range.depth_end - k);
    if (blocks == kBlocksASum) {
      if (deep) {
        kernels::Lines().add(scratch.tiles, block_elems, scratch.deep);
      } else {
        std::memcpy(scratch.deep, scratch.tiles, static_cast<size_t>(block_elems) * sizeof(float));
      }
      deep = true;
      blocks = 0;
    }
    for (int64_t r = 0; r < range.row_panels; ++r) {
      rows[r] = row_panel(r, k, count, scratch.rows + r * tile.rows * blocking.depth);
    }
    for (int64_t l = 0; l < range.lane_panels; ++l) {
      const float* lanes = lane_panel(l, k, count, scratch.lanes);
      float* tiles = scratch.tiles + l * range.row_panels * tile_elems;
      for (int64_t r = 0; r < range.row_panels; ++r)
        tile.run(count, rows[r], lanes, tiles + r * tile_elems, blocks > 0);
    }
  }
  if (range.depth_begin >= range.depth_end) {
    std::memset(scratch.tiles, 0, static_cast<size_t>(block_elems) * sizeof(float));
  }
  if (deep) kernels::Lines().add(scratch.deep, block_elems, scratch.tiles);
}

}  // namespace canopy::conv::implicit_gemm

#endif  // CANOPY_CONV_IMPLICIT_GEMM_MULTIPLY_H_
