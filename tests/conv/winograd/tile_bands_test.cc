// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/tile_bands.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace canopy::conv::winograd {
namespace {

// Bands that divide the image and such that leave rests, on either axis.
TEST(TileBandsTest, CoverEveryTileOnceAndCountThoseBefore) {
  for (int64_t rows = 1; rows <= 5; ++rows) {
    for (int64_t columns = 1; columns <= 6; ++columns) {
      const TileBands bands(2, 5, 6, rows, columns);
      std::set<std::tuple<int64_t, int64_t, int64_t>> tiles;
      for (int64_t index = 0; index < bands.count(); ++index) {
        const TileBand band = bands.At(index);
        EXPECT_EQ(band.before, static_cast<int64_t>(tiles.size())) << rows << "x" << columns << ", band " << index;
        EXPECT_LE(band.tiles(), rows * columns);
        for (int64_t row = 0; row < band.rows; ++row) {
          for (int64_t column = 0; column < band.columns; ++column) {
            EXPECT_TRUE(tiles.emplace(band.image, band.first_row + row, band.first_column + column).second);
          }
        }
      }
      EXPECT_EQ(tiles.size(), 60u);
      EXPECT_EQ(std::get<1>(*tiles.rbegin()), 4);
      EXPECT_EQ(std::get<2>(*tiles.rbegin()), 5);
      EXPECT_EQ(bands.At(bands.count()).before, 60);
    }
  }
}

}  // namespace
}  // namespace canopy::conv::winograd
