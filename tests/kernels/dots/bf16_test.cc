// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernels/dispatch.h"
#include "kernels/dots/contract.h"
#include "tests/kernels/dots/formula.h"

namespace canopy::kernels {
namespace {

TEST(PairDotsTest, SumsFollowTheFormulaAndTouchNothingElse) {
  if (PairDots().lanes == 0) GTEST_SKIP() << "this processor has no BF16 dot products";
  ExpectFormulaOfAll(PairDots());
}

TEST(PairDotsTest, SummingKernelsGiveTheRowsSumsToo) {
  if (PairDots().lanes == 0) GTEST_SKIP() << "this processor has no BF16 dot products";
  ExpectFormulaOfSumming(PairDots());
}

TEST(PairDotsTest, SumsHaveTheLanesOfTheOthersOrThereAreNone) {
  for (const int64_t target : MachineTargets()) {
    const ScopedTarget scoped(target);
    EXPECT_TRUE(PairDots().lanes == 0 || PairDots().lanes == Dots().lanes) << PairDots().lanes;
  }
}

}  // namespace
}  // namespace canopy::kernels
