// SPDX-License-Identifier: Apache-2.0
#include "numerics/bits.h"

#include <gtest/gtest.h>

namespace canopy::numerics {
namespace {

TEST(Bits, TiesGoToTheEvenQuotientOrAway) {
  EXPECT_EQ(DropBitsNearestEven(0b0111, 2), 0b10u);
  EXPECT_EQ(DropBitsNearestEven(0b0110, 2), 0b10u);  // 1.5 -> 2
  EXPECT_EQ(DropBitsNearestEven(0b1010, 2), 0b10u);  // 2.5 -> 2
  EXPECT_EQ(DropBitsNearestEven(0b1011, 2), 0b11u);
  EXPECT_EQ(DropBitsNearestEven(0b1001, 2), 0b10u);
  EXPECT_EQ(DropBitsNearestAway(0b1010, 2), 0b11u);
  EXPECT_EQ(DropBitsNearestAway(0b0110, 2), 0b10u);
  EXPECT_EQ(DropBitsNearestAway(0b1001, 2), 0b10u);
}

}  // namespace
}  // namespace canopy::numerics
