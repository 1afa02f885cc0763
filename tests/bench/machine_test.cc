// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <gtest/gtest.h>

#include "bench/machine_loops.h"

namespace canopy::bench {
namespace {

TEST(Machine, TheRateOfAFootprintLiesBetweenItsNeighbours) {
  const Bandwidth bandwidth({{1 << 20, 100}, {4 << 20, 50}, {16 << 20, 10}});
  EXPECT_DOUBLE_EQ(bandwidth.At(1 << 20), 100);
  EXPECT_DOUBLE_EQ(bandwidth.At(2 << 20), 75);
  EXPECT_DOUBLE_EQ(bandwidth.At(8 << 20), 30);
}

TEST(Machine, BeyondTheFootprintsTheNearestRateHolds) {
  const Bandwidth bandwidth({{1 << 20, 100}, {4 << 20, 50}});
  EXPECT_DOUBLE_EQ(bandwidth.At(1), 100);
  EXPECT_DOUBLE_EQ(bandwidth.At(1e12), 50);
}

TEST(Machine, AnExchangeTakesTwoThreads) {
  EXPECT_EQ(MeasureExchangeNs(1), 0);
  const double ns = MeasureExchangeNs(2);
  EXPECT_GT(ns, 1);    // light itself does not get from core to core in less
  EXPECT_LT(ns, 1e7);  // a tick of the scheduler, where both are on one core
}

TEST(Machine, OperationsOfTheLoopGrowWithItsRounds) { EXPECT_EQ(SpinBf16Dot(20), 2 * SpinBf16Dot(10)); }

}  // namespace
}  // namespace canopy::bench
