// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/dots/contract.h"
#include "tests/kernels/dots/formula.h"
#include "tests/kernels/random_floats.h"

namespace canopy::kernels {
namespace {

class DotsTest : public testing::TestWithParam<int64_t> {
 protected:
  DotsTest() : scoped_(GetParam()), kernels_(Dots()) {}

  const ScopedTarget scoped_;
  const DotsKernels& kernels_;
};

TEST_P(DotsTest, SumsFollowTheFormulaAndTouchNothingElse) { ExpectFormulaOfAll(kernels_); }

TEST_P(DotsTest, SummingKernelsGiveTheRowsSumsToo) { ExpectFormulaOfSumming(kernels_); }

TEST_P(DotsTest, ReduceAddsLanesAndTouchesNothingElse) {
  const std::vector<float> vectors = RandomFloats(static_cast<size_t>(9 * kernels_.lanes), 3);
  for (int64_t count = 0; count <= 9; ++count) {
    std::vector<float> sums(10, -5);
    // So that a sanitizer sees more: nothing behind the vectors.
    const std::vector<float> only(vectors.begin(), vectors.begin() + count * kernels_.lanes);
    kernels_.reduce(only.data(), count, sums.data());
    for (int64_t i = 0; i < 10; ++i) {
      double sum = i < count ? 0 : -5;
      for (int l = 0; i < count && l < kernels_.lanes; ++l) sum += vectors[i * kernels_.lanes + l];
      EXPECT_NEAR(sums[i], sum, 1e-5) << count << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DotsTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
