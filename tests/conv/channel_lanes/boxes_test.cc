// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/boxes.h"

#include <gtest/gtest.h>

#include <set>

namespace canopy::conv::channel_lanes {
namespace {

void ExpectCover(const packing::Boxes& boxes, const packing::Extent4& whole) {
  std::set<packing::Extent4> positions;
  for (int64_t index = 0; index < boxes.count(); ++index) {
    const packing::Box box = boxes.At(index);
    EXPECT_LE(box.positions(), boxes.positions());
    for (int64_t i = 0; i < box.positions(); ++i) {
      int64_t rest = i;
      packing::Extent4 at = box.first;
      for (int axis = 3; axis >= 0; --axis) {
        at[axis] += rest % box.count[axis];
        rest /= box.count[axis];
        EXPECT_LT(at[axis], whole[axis]);
      }
      EXPECT_TRUE(positions.insert(at).second);
    }
  }
  EXPECT_EQ(static_cast<int64_t>(positions.size()), whole[0] * whole[1] * whole[2] * whole[3]);
}

constexpr packing::Extent4 kWholes[] = {{3, 2, 5, 7}, {1, 1, 1, 40}, {9, 1, 1, 3}, {2, 8, 1, 1}};

TEST(BoxesTest, CoverEveryPositionOnce) {
  for (const packing::Extent4& whole : kWholes) {
    for (const int64_t most : {1, 4, 13, 64, 1000}) {
      ExpectCover(packing::Boxes(whole[0], {whole[1], whole[2], whole[3]}, {1, 2, 2}, most), whole);
      ExpectCover(packing::Boxes(whole, {1, 1, 1}, {1, 2, 1, 1}, {3, 2, 1, 0}, most), whole);
      ExpectCover(packing::Boxes(whole, {2, 1, 3}, {1, 1, 1, 4}, {0, 3, 2, 1}, most), whole);
    }
  }
}

TEST(BoxesTest, OfOnePlaceFollowOneAnother) {
  const packing::Boxes boxes({5, 3, 8, 7}, {1, 1, 1}, {1, 1, 1, 1}, {3, 2, 1, 0}, 24);
  ASSERT_GT(boxes.images(), 1);
  ASSERT_GT(boxes.count(), boxes.images());
  std::set<packing::Extent4> met;
  for (int64_t i = 0; i < boxes.count(); ++i) {
    const packing::Box box = boxes.AtByPlace(i);
    EXPECT_TRUE(met.insert(box.first).second);
    for (int axis = 1; axis < 4; ++axis) {
      EXPECT_EQ(box.first[axis], boxes.AtByPlace(i - i % boxes.images()).first[axis]) << "of box " << i;
    }
  }
}

TEST(BoxesTest, TakeAxesInOrderButTheLeastOfAll) {
  const packing::Boxes boxes({8, 6, 10, 12}, {1, 1, 1}, {1, 2, 1, 1}, {3, 2, 1, 0}, 2 * 12 * 5);
  EXPECT_EQ(boxes.extent(), (packing::Extent4{1, 2, 5, 12}));
  const packing::Boxes images({16, 1, 1, 100}, {1, 1, 1}, {1, 1, 1, 2}, {0, 3, 2, 1}, 64);
  EXPECT_EQ(images.extent(), (packing::Extent4{16, 1, 1, 4}));
}

TEST(BoxesTest, AreCutAtMultiples) {
  const packing::Boxes boxes({1, 1, 8, 9}, {1, 4, 3}, {1, 1, 4, 3}, {3, 2, 1, 0}, 24);
  EXPECT_EQ(boxes.extent(), (packing::Extent4{1, 1, 4, 6}));
}

TEST(BoxesTest, OfNothingAreNone) {
  EXPECT_EQ(packing::Boxes(0, {1, 2, 3}, {1, 1, 1}, 8).count(), 0);
  EXPECT_EQ(packing::Boxes({4, 1, 0, 3}, {1, 1, 1}, {1, 1, 2, 1}, {3, 2, 1, 0}, 8).count(), 0);
}

}  // namespace
}  // namespace canopy::conv::channel_lanes
