// SPDX-License-Identifier: Apache-2.0
#include "base/checked_math.h"

#include <gtest/gtest.h>

#include <limits>

namespace canopy::base {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(Checked, ComputesWhatFits) {
  const Checked result = Checked(3) * 5 + 7 - 2;
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value(), 20);
  EXPECT_TRUE((Checked(kMax) - kMax).ok());
  EXPECT_TRUE((Checked(kMin) + kMax).ok());
}

TEST(Checked, ReportsEveryOverflow) {
  EXPECT_FALSE((Checked(kMax) + 1).ok());
  EXPECT_FALSE((Checked(kMin) - 1).ok());
  EXPECT_FALSE((Checked(kMin) * -1).ok());
  EXPECT_FALSE((Checked(int64_t{1} << 32) * (int64_t{1} << 31)).ok());
}

TEST(Checked, RemembersAnEarlierOverflow) {
  const Checked overflowed = Checked(kMax) * 2;
  EXPECT_FALSE((overflowed * 0).ok());
  EXPECT_FALSE((Checked(1) + overflowed).ok());
  EXPECT_FALSE((overflowed - overflowed).ok());
}

TEST(CeilDiv, RoundsUp) {
  EXPECT_EQ(CeilDiv(0, 4), 0);
  EXPECT_EQ(CeilDiv(1, 4), 1);
  EXPECT_EQ(CeilDiv(4, 4), 1);
  EXPECT_EQ(CeilDiv(5, 4), 2);
  EXPECT_EQ(CeilDiv(kMax, 1), kMax);
  EXPECT_EQ(CeilDiv(kMax, kMax), 1);
}

TEST(RoundUp, GivesAMultiple) {
  EXPECT_EQ(RoundUp(0, 16), 0);
  EXPECT_EQ(RoundUp(1, 16), 16);
  EXPECT_EQ(RoundUp(16, 16), 16);
  EXPECT_EQ(RoundUp(17, 16), 32);
}

TEST(PartSize, GivesTheFewestPartsAlike) {
  EXPECT_EQ(PartSize(0, 8), 1);
  EXPECT_EQ(PartSize(1, 8), 1);
  EXPECT_EQ(PartSize(8, 8), 8);
  EXPECT_EQ(PartSize(9, 8), 5);  // and 4
  EXPECT_EQ(PartSize(100, 30), 25);
  EXPECT_EQ(PartSize(7, 1), 1);
  EXPECT_EQ(PartSize(7, 0), 1);
  EXPECT_EQ(PartSize(7, -3), 1);
  EXPECT_EQ(PartSize(kMax, kMax), kMax);
}

}  // namespace
}  // namespace canopy::base
