// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "kernels/dispatch.h"
#include "kernels/peak/contract.h"

namespace canopy::kernels {
namespace {

class PeakTest : public testing::TestWithParam<int64_t> {};

TEST_P(PeakTest, OperationsGrowWithTheRounds) {
  const ScopedTarget scoped(GetParam());
  EXPECT_EQ(SpinFma(0), 0);
  const double one = SpinFma(1);
  EXPECT_GE(one, 2 * 8);  // fewer multiply-adds than that in flight reach no peak
  EXPECT_EQ(std::fmod(one, 2), 0);
  EXPECT_EQ(SpinFma(20), 20 * one);
  EXPECT_EQ(SpinFma(21), 21 * one);
}

// A loop that the compiler had thrown away would do them in no time. A busy machine only makes it slower.
TEST_P(PeakTest, TheOperationsAreReallyDone) {
  const ScopedTarget scoped(GetParam());
  constexpr double kNoCore = 1e13;  // operations a second
  const auto begin = std::chrono::steady_clock::now();
  const double operations = SpinFma(100000);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(operations, kNoCore * elapsed.count());
}

INSTANTIATE_TEST_SUITE_P(Targets, PeakTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
