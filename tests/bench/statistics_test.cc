// SPDX-License-Identifier: Apache-2.0
#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace canopy::bench {
namespace {

TEST(Statistics, TheMedianIsInTheMiddle) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({9, 1, 2}), 2);
  EXPECT_EQ(Median({9, 1, 4, 2}), 3);
}

TEST(Statistics, APercentileIsTheLeastValueThatSoManyDoNotExceed) {
  EXPECT_EQ(Percentile({}, 10), 0);
  EXPECT_EQ(Percentile({3}, 10), 3);
  EXPECT_EQ(Percentile({9, 1, 4, 2}, 10), 1);
  EXPECT_EQ(Percentile({9, 1, 4, 2}, 50), 2);
  EXPECT_EQ(Percentile({9, 1, 4, 2}, 51), 4);
  EXPECT_EQ(Percentile({9, 1, 4, 2}, 100), 9);
}

TEST(Statistics, TheGeometricMeanLeavesOutWhatIsMissing) {
  EXPECT_DOUBLE_EQ(GeometricMean({2, 8}), 4);
  EXPECT_DOUBLE_EQ(GeometricMean({2, 0, 8}), 4);
  EXPECT_EQ(GeometricMean({}), 0);
}

TEST(Statistics, ADifferenceIsRelativeToTheWholeTensor) {
  EXPECT_EQ(RelativeDifference({1, 2}, {1, 2}), 0);
  EXPECT_EQ(RelativeDifference({0, 0}, {0, 0}), 0);
  EXPECT_DOUBLE_EQ(RelativeDifference({3, 4.5}, {3, 4}), 0.1);
}

TEST(Statistics, ResultsThatNobodyWroteAreInfinitelyFarAway) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isinf(RelativeDifference({1, nan}, {1, 2})));
  EXPECT_TRUE(std::isinf(RelativeDifference({1}, {1, 2})));
  EXPECT_TRUE(std::isinf(RelativeDifference({1, 1}, {0, 0})));
}

}  // namespace
}  // namespace canopy::bench
