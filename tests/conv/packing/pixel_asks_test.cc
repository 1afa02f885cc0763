// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/pixel_asks.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "conv/packing/cache_sets.h"

namespace canopy::conv::packing {
namespace {

constexpr int64_t kVectors = 2;  // of a tile, each of which asks for a line

// The channels of a term and their byte offsets that all row panels together ask for.
std::set<std::pair<int64_t, int64_t>> AllAsks(const PixelAsks& asks, int64_t row_panels) {
  std::set<std::pair<int64_t, int64_t>> asked;
  for (int64_t panel = 0; panel < row_panels; ++panel) {
    if (!asks.Asks(panel)) continue;
    for (int64_t v = 0; v < kVectors; ++v) {
      asked.emplace(asks.Channel(panel), asks.FirstByte(panel) + v * asks.LineStep());
    }
  }
  return asked;
}

TEST(PixelAsks, BringEveryLineOfATileWhateverTheNumberOfPanels) {
  for (const int64_t pixels : {16, 32}) {
    for (int64_t row_panels = 1; row_panels <= 9; ++row_panels) {
      const PixelAsks asks(pixels, 4, 1, row_panels);
      const auto asked = AllAsks(asks, row_panels);
      for (int64_t byte = 0; byte < pixels * 4; byte += 64) EXPECT_TRUE(asked.contains({0, byte})) << row_panels;
    }
  }
}

TEST(PixelAsks, ShareLinesOutAmongAsManyPanels) {
  const PixelAsks one(32, 4, 1, 1), two(32, 4, 1, 2), many(32, 4, 1, 3);
  EXPECT_TRUE(one.Asks(0));
  EXPECT_EQ(one.LineStep(), 64);
  for (const PixelAsks& asks : {two, many}) {
    EXPECT_TRUE(asks.Asks(0));
    EXPECT_TRUE(asks.Asks(1));
    EXPECT_FALSE(asks.Asks(2));
    EXPECT_EQ(asks.LineStep(), 0);
    EXPECT_EQ(asks.FirstByte(0), 0);
    EXPECT_EQ(asks.FirstByte(1), 64);
  }
}

TEST(PixelAsks, TakeTurnsWithTheChannelsOfAPair) {
  for (const int64_t row_panels : {2, 3, 8}) {
    const PixelAsks asks(32, 2, 2, row_panels);
    const auto asked = AllAsks(asks, row_panels);
    EXPECT_TRUE(asked.contains({0, 0}));
    EXPECT_TRUE(asked.contains({1, 0}));
    EXPECT_FALSE(asks.Asks(2));
  }
}

TEST(CrowdASet, TakesManyRowsOfOneSet) {
  EXPECT_TRUE(CrowdASet(14, 1024));
  EXPECT_TRUE(CrowdASet(14, 224 * 224));
  EXPECT_FALSE(CrowdASet(14, 56 * 56));
  EXPECT_FALSE(CrowdASet(6, 1024));
}

}  // namespace
}  // namespace canopy::conv::packing
