// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/tiling.h"

#include <gtest/gtest.h>

#include <set>

namespace canopy::conv::winograd {
namespace {

// Every kernel of up to 9 offsets an axis, dilated or not; results that fill tiles, leave rests, or do not fill one.
TEST(TilingTest, EveryOffsetMeetsEveryResultOnceInTheWindowOfItsTile) {
  for (int64_t index = 0; index < 9 * 4; ++index) {
    const int64_t taps = index / 4 + 1, dilation = index % 4 + 1;
    for (const Tiling& tiling : Tilings({1, taps, 3}, {1, dilation, 1})) {
      for (const int64_t results : {1, 3, 4, 11, 12, 40}) {
        const AxisTiling& axis = tiling.axes[1];
        const int64_t tiles = axis.tiles(results);
        std::set<int64_t> results_met, met;
        for (int64_t tile = 0; tile < tiles; ++tile) {
          for (int64_t i = 0; i < axis.tile; ++i) {
            const int64_t result = axis.TileBegin(tile) + i * axis.dilation;
            EXPECT_TRUE(results_met.insert(result).second) << "result " << result << " again";
            for (int64_t k = 0; k < taps; ++k) {
              const int64_t window = tile + k / axis.taps * axis.term_step(tiles), pixel = i + k % axis.taps;
              EXPECT_LT(k / axis.taps, axis.terms);
              EXPECT_LT(pixel, axis.window);
              EXPECT_EQ(axis.WindowBegin(window, tiles) + pixel * axis.dilation, result + k * dilation)
                  << "result " << result << ", offset " << k;
              met.insert(window);
            }
          }
        }
        EXPECT_GE(tiles * axis.tile, results);
        EXPECT_EQ(*results_met.rbegin() + 1, tiles * axis.tile) << "gaps between results";
        EXPECT_EQ(*met.rbegin() + 1, axis.windows(tiles)) << taps << " offsets, " << results << " results";
      }
    }
  }
}

TEST(TilingTest, TileAndTermMakeAWindow) {
  for (const Tiling& tiling : Tilings({2, 5, 4}, {1, 1, 1})) {
    int transformed = 0;
    for (const AxisTiling& axis : tiling.axes) {
      EXPECT_EQ(axis.tile + axis.taps - 1, axis.window);
      transformed += axis.window > 1;
    }
    EXPECT_EQ(tiling.transformed, transformed);
    EXPECT_LE(tiling.terms(), kMostTerms);
  }
}

TEST(TilingTest, TakesOneAxisOrTwoAndFewTerms) {
  const auto axes = [](const Extent3& kernel) {
    std::set<int> counts;
    for (const Tiling& tiling : Tilings(kernel, {1, 1, 1})) counts.insert(tiling.transformed);
    return counts;
  };
  EXPECT_EQ(axes({1, 1, 3}), std::set<int>{1});
  EXPECT_EQ(axes({3, 1, 1}), std::set<int>{1});
  EXPECT_EQ(axes({1, 3, 3}), (std::set<int>{1, 2}));
  EXPECT_EQ(axes({1, 7, 7}), (std::set<int>{2}));  // along one axis they would be 14 terms
  EXPECT_TRUE(axes({1, 1, 1}).empty());
  EXPECT_TRUE(axes({2, 2, 2}).empty());
  EXPECT_TRUE(axes({0, 3, 3}).empty());
  EXPECT_TRUE(axes({9, 9, 9}).empty());
  EXPECT_TRUE(axes({int64_t{1} << 40, int64_t{1} << 40, 3}).empty());
}

}  // namespace
}  // namespace canopy::conv::winograd
