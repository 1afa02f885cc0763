// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/tile_bands.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace canopy::conv::winograd {
namespace {

// Bands that divide the image and such that leave rests, on any axis.
TEST(TileBandsTest, CoverEveryTileOnce) {
  const Extent3 grid{3, 5, 6};
  for (int64_t i = 0; i < 3 * 5 * 6; ++i) {
    const Extent3 extent{1 + i / 30, 1 + i / 6 % 5, 1 + i % 6};
    const TileBands bands(2, grid, extent);
    std::set<std::tuple<int64_t, int64_t, int64_t, int64_t>> tiles;
    for (int64_t index = 0; index < bands.count(); ++index) {
      const TileBand band = bands.At(index);
      for (int axis = 0; axis < 3; ++axis) {
        EXPECT_GE(band.count[axis], 1);
        EXPECT_LE(band.count[axis], extent[axis]);
        EXPECT_LE(band.first[axis] + band.count[axis], grid[axis]);
      }
      for (int64_t tile = 0; tile < band.count[0] * band.count[1] * band.count[2]; ++tile) {
        EXPECT_TRUE(tiles
                        .emplace(band.image, band.first[0] + tile / (band.count[1] * band.count[2]),
                                 band.first[1] + tile / band.count[2] % band.count[1],
                                 band.first[2] + tile % band.count[2])
                        .second);
      }
    }
    EXPECT_EQ(tiles.size(), 180u);
    EXPECT_EQ(std::get<0>(*tiles.rbegin()), 1);
  }
}

}  // namespace
}  // namespace canopy::conv::winograd
