// SPDX-License-Identifier: Apache-2.0
#include "exec/float_mode.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace canopy::exec
