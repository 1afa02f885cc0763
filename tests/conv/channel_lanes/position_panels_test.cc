// SPDX-License-Identifier: Apache-2.0
#include "conv/channel_lanes/position_panels.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy::conv::channel_lanes {
namespace {

// What stands at each place: the row of the position.
std::vector<int64_t> RowsByPlace(const PositionPanels& panels, int64_t rows, int64_t row) {
  std::vector<int64_t> by_place(static_cast<size_t>(rows * row), -1);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t at = 0; at < row; ++at) {
      int64_t& place = by_place.at(static_cast<size_t>(panels.Place(r, at)));
      EXPECT_EQ(place, -1) << "two positions at one place";
      place = r;
    }
  }
  return by_place;
}

TEST(PositionPanelsTest, EveryPositionHasAPlaceOfItsOwnInSomePanel) {
  for (const bool in_parts : {false, true}) {
    for (int64_t rows : {1, 3, 28}) {
      for (int64_t row : {1, 7, 12, 14, 28, 50, 54}) {
        const PositionPanels panels(rows, row, 16, in_parts);
        RowsByPlace(panels, rows, row);
        int64_t positions = 0;
        for (int64_t panel = 0; panel < panels.count(); ++panel) {
          ASSERT_GT(panels.size(panel), 0);
          ASSERT_LE(panels.size(panel), 16);
          positions += panels.size(panel);
        }
        EXPECT_EQ(positions, rows * row);
        EXPECT_EQ(panels.size(panels.count()), 0);
      }
    }
  }
}

TEST(PositionPanelsTest, PanelsOfPartsMeetOneRowEachAndOnesAsLargeFollowOneAnother) {
  constexpr int64_t kRows = 5;
  const PositionPanels panels(kRows, 54, 16, true);
  const std::vector<int64_t> rows = RowsByPlace(panels, kRows, 54);
  ASSERT_EQ(panels.count(), 4 * kRows);
  int64_t place = 0;
  for (int64_t panel = 0; panel < panels.count(); ++panel) {
    EXPECT_EQ(panels.size(panel), panel < 3 * kRows ? 14 : 12);
    for (const int64_t end = place + panels.size(panel); place < end; ++place) {
      EXPECT_EQ(rows[static_cast<size_t>(place)], panel % kRows);
    }
  }
}

TEST(PositionPanelsTest, PartsThatWouldLeaveTilesEmptyAreNotMade) {
  const PositionPanels panels(7, 7, 16, true);
  ASSERT_EQ(panels.count(), 4);
  for (int64_t panel = 0; panel < 3; ++panel) EXPECT_EQ(panels.size(panel), 16);
  EXPECT_EQ(panels.size(3), 1);
}

}  // namespace
}  // namespace canopy::conv::channel_lanes
