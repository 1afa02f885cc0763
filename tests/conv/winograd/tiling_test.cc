// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/tiling.h"

#include <gtest/gtest.h>

#include <set>

namespace canopy::conv::winograd {
namespace {

Geometry Of(const Extent3& kernel, const Extent3& dilation, const Extent3& stride = {1, 1, 1}) {
  Geometry geometry;
  geometry.kernel = kernel;
  geometry.dilation = dilation;
  geometry.stride = stride;
  return geometry;
}

// Every kernel of up to 9 offsets an axis, dilated or not; results that fill tiles, leave rests, or do not fill one.
TEST(TilingTest, EveryOffsetMeetsEveryResultOnceInTheWindowOfItsTile) {
  for (int64_t index = 0; index < 9 * 4; ++index) {
    const int64_t taps = index / 4 + 1, dilation = index % 4 + 1;
    for (const Tiling& tiling : Tilings(Of({1, taps, 3}, {1, dilation, 1}), true)) {
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

// Forward, result r meets source pixel r * stride + offset; in a data gradient, result i * stride + a meets, besides
// others, source pixel i - t under offset a + t * stride.
TEST(TilingTest, ResiduesOfAStrideAreTermsOrPhases) {
  for (const int64_t stride : {2, 3, 4}) {
    for (int64_t kernel = stride + 1; kernel <= 4 * stride; ++kernel) {
      for (const bool forward : {true, false}) {
        const std::vector<Tiling> tilings = Tilings(Of({1, 1, kernel}, {1, 1, 1}, {1, 1, stride}), forward);
        EXPECT_FALSE(tilings.empty()) << kernel << " offsets, stride " << stride;
        for (const Tiling& tiling : tilings) {
          const AxisTiling& axis = tiling.axes[2];
          const int64_t tiles = 3;
          for (int64_t i = 0; i < tiles * axis.tile; ++i) {
            const int64_t tile = i / axis.tile;
            std::set<int64_t> offsets;
            for (int64_t phase = 0; phase < axis.phases; ++phase) {
              for (int64_t term = 0; term < axis.terms; ++term) {
                for (int64_t tap = 0; tap < axis.taps; ++tap) {
                  if (axis.Lacks(term, phase, tap)) continue;
                  const int64_t offset = axis.Offset(term, phase, tap);
                  EXPECT_TRUE(offsets.insert(offset).second);
                  const int64_t pixel = axis.WindowBegin(tile + term * axis.term_step(tiles), tiles) +
                                        (i % axis.tile + tap) * axis.pixel_step();
                  if (forward) {
                    EXPECT_EQ(pixel, i * stride + offset);
                  } else {
                    EXPECT_EQ(pixel - (axis.taps - 1), i - offset / stride);
                    EXPECT_EQ(axis.Result(tile, i % axis.tile, phase), i * stride + offset % stride);
                  }
                }
              }
            }
            EXPECT_EQ(static_cast<int64_t>(offsets.size()), kernel) << "result " << i << ", stride " << stride;
          }
        }
      }
    }
  }
}

// The first and last points stand for one offset; without it, as few multiply-adds are needed as it leaves.
TEST(TilingTest, ProductsThatVanishAreNotCounted) {
  const auto products = [](int64_t kernel, int64_t stride, bool forward, int64_t taps) {
    for (const Tiling& tiling : Tilings(Of({1, 1, kernel}, {1, 1, 1}, {1, 1, stride}), forward)) {
      if (tiling.taps_side == taps) return tiling.axes[2].products();
    }
    return int64_t{0};
  };
  EXPECT_EQ(products(3, 1, true, 3), 6);
  EXPECT_EQ(products(5, 1, true, 3), 6 + 5);
  EXPECT_EQ(products(3, 2, true, 2), 6 + 5);
  EXPECT_EQ(products(3, 2, false, 2), 6 + 5);
  EXPECT_EQ(products(4, 2, false, 2), 6 + 6);
}

// 7 results are a tile of 4 and one of 3, of 6 and 5 points; of one result a window has the 3 pixels that it meets.
TEST(TilingTest, TheLastTileHasWhatIsLeft) {
  AxisTiling axis = Tilings(Of({1, 1, 3}, {1, 1, 1}), true).front().axes[2];
  EXPECT_EQ(axis.tile, 4);
  axis.Fit(7);
  EXPECT_EQ(axis.tile_results(true), 3);
  EXPECT_EQ(axis.window_pixels(true), 5);
  EXPECT_EQ(axis.Products(7), 6 + 5);
  axis.Fit(9);
  EXPECT_EQ(axis.window_pixels(true), 3);
  EXPECT_EQ(axis.Products(9), 6 + 6 + 3);
  axis.Fit(8);
  EXPECT_EQ(axis.Products(8), 6 + 6);
  axis.dilation = 2;
  axis.Fit(7);
  EXPECT_EQ(axis.tile_results(true), 4);
}

// 14 results under stride 2, padded by 1: phases of 7 results each, not of 8 of which some lack the first or the last.
TEST(TilingTest, PhasesBeginWhereTheyFitTheirResults) {
  Geometry geometry = Of({1, 1, 3}, {1, 1, 1}, {1, 1, 2});
  geometry.pad_begin = {0, 0, 1};
  geometry.input_size = {1, 1, 14};
  const AxisTiling axis = Tilings(geometry, false).front().axes[2];
  EXPECT_EQ(axis.phase_pad, 1);
  EXPECT_EQ(axis.Products(7), 16);
  for (int64_t phase = 0; phase < 2; ++phase) {
    std::set<int64_t> offsets;
    for (int64_t tap = 0; tap < axis.taps; ++tap) {
      if (!axis.Lacks(0, phase, tap)) offsets.insert(axis.Offset(0, phase, tap));
    }
    EXPECT_EQ(offsets, phase == 0 ? std::set<int64_t>({1}) : std::set<int64_t>({0, 2}));
  }
}

TEST(TilingTest, TileAndTermMakeAWindow) {
  for (const Tiling& tiling : Tilings(Of({2, 5, 4}, {1, 1, 1}), true)) {
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
  const auto axes = [](const Extent3& kernel, const Extent3& dilation = {1, 1, 1}) {
    std::set<int> counts;
    for (const Tiling& tiling : Tilings(Of(kernel, dilation), true)) counts.insert(tiling.transformed);
    return counts;
  };
  EXPECT_EQ(axes({1, 1, 3}), std::set<int>{1});
  EXPECT_EQ(axes({3, 1, 1}), std::set<int>{1});
  EXPECT_EQ(axes({1, 3, 3}), (std::set<int>{1, 2}));
  EXPECT_EQ(axes({1, 7, 7}), (std::set<int>{2}));  // along one axis they would be 14 terms
  EXPECT_TRUE(axes({1, 1, 1}).empty());
  EXPECT_EQ(axes({1, 2, 2}), (std::set<int>{1, 2}));
  EXPECT_EQ(axes({2, 2, 2}), (std::set<int>{1, 2}));
  EXPECT_TRUE(axes({0, 3, 3}).empty());
  EXPECT_TRUE(axes({9, 9, 9}).empty());
  EXPECT_TRUE(axes({int64_t{1} << 40, int64_t{1} << 40, 3}).empty());
  EXPECT_EQ(axes({1, 3, 3}, {1, 4, 4}), (std::set<int>{1, 2}));
  EXPECT_EQ(axes({1, 3, 3}, {1, 4, 5}), std::set<int>{1});
  EXPECT_TRUE(axes({1, 1, 3}, {1, 1, int64_t{1} << 40}).empty());
}

}  // namespace
}  // namespace canopy::conv::winograd
