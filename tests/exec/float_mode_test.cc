// SPDX-License-Identifier: Apache-2.0
#include "exec/float_mode.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <limits>

namespace canopy::exec {
namespace {

float Half(float value) {
  volatile float at_run_time = value;
  return at_run_time * 0.5f;
}

TEST(FloatModeTest, DenormalsAreFlushedInsideTheScopeAndBackAfterIt) {
  const float least = std::numeric_limits<float>::min();
  EXPECT_GT(Half(least), 0.0f);
  {
    FlushDenormals flush;
    EXPECT_EQ(Half(least), 0.0f);
    {
      FlushDenormals nested;
      EXPECT_EQ(Half(least), 0.0f);
    }
    EXPECT_EQ(Half(least), 0.0f);
  }
  EXPECT_GT(Half(least), 0.0f);
}

float Third() {
  volatile float divisor = 3;
  volatile float third = 1 / divisor;
  return third;
}

// The scope once kept the caller's rounding direction, and results differed with it.
TEST(FloatModeTest, TheCallersRoundingDirectionCountsOnlyOutsideTheScope) {
  const float nearest = Third();
  ASSERT_EQ(std::fesetround(FE_DOWNWARD), 0);
  const float downward = Third();
  float inside;
  {
    FlushDenormals flush;
    inside = Third();
  }
  const float after = Third();
  ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
  EXPECT_NE(nearest, downward);
  EXPECT_EQ(inside, nearest);
  EXPECT_EQ(after, downward);
}

}  // namespace
}  // namespace canopy::exec
