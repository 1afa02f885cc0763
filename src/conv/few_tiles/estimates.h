// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_FEW_TILES_ESTIMATES_H_
#define CANOPY_CONV_FEW_TILES_ESTIMATES_H_

#include "conv/algorithm.h"
#include "conv/few_tiles/tile_numbers.h"

namespace canopy::conv::few_tiles {

// Of what each thread may transform for itself, with a promise of 8 MiB of working memory for each.
inline constexpr int64_t kMostOwnBytes = int64_t{5} << 20;

// In units of Step::Work.
inline constexpr double kWorkATransform = 300;  // of a tile or window of one block of channels, at 36 points
inline constexpr double kWorkASlabElem = 1.3;

// Of a block of channels: of each part's windows, or tiles.
inline double TransformWork(const std::vector<TileNumbers>& numbers, const std::vector<TileGrid>& grids) {
  double work = 0;
  for (size_t part = 0; part < grids.size(); ++part) {
    work += kWorkATransform / kernels::kSquarePoints *
                static_cast<double>(grids[part].count() * grids[part].points().count) +
            kWorkASlabElem * static_cast<double>(numbers[part].slab_floats());
  }
  return work;
}

// Whether one thread computes all: of a single job threads share no more than what is transformed before it.
inline constexpr double kSerialWorkOfOneJob = 3 * kSerialWork;
inline bool IsSerial(double work, int64_t jobs) { return work < (jobs > 1 ? kSerialWork : kSerialWorkOfOneJob); }

}  // namespace canopy::conv::few_tiles

#endif  // CANOPY_CONV_FEW_TILES_ESTIMATES_H_
