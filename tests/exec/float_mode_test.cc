// SPDX-License-Identifier: Apache-2.0
#include "exec/float_mode.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <limits>

#include "base/matrix_unit.h"

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

// 0: no tile registers are in use.
int TilePalette() {
  base::MatrixTileShapes now;
#if defined(__x86_64__)
  asm volatile("sttilecfg %0" : "=m"(now));
#endif
  return now.palette;
}

TEST(FloatModeTest, AMatrixUnitsRegistersAreGivenBackAfterTheScope) {
  if (!base::MatrixUnit()) GTEST_SKIP() << "this processor has no matrix unit";
  base::MatrixTileShapes shapes;
  for (int tile = 0; tile < 8; ++tile) {
    shapes.rows[tile] = 16;
    shapes.row_bytes[tile] = 64;
  }
  {
    FlushDenormals flush;
    EXPECT_EQ(TilePalette(), 0);
    base::UseMatrixTiles(shapes);
    base::UseMatrixTiles(shapes);  // as they are
    EXPECT_EQ(TilePalette(), 1);
  }
  EXPECT_EQ(TilePalette(), 0);
}

}  // namespace
}  // namespace canopy::exec
