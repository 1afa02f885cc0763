// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/toeplitz/contract.h"
#include "tests/kernels/random_floats.h"

namespace canopy::kernels {
namespace {

class ToeplitzTest : public testing::TestWithParam<int64_t> {
 protected:
  ToeplitzTest() : scoped_(GetParam()), kernels_(Toeplitz()) {}

  const ScopedTarget scoped_;
  const ToeplitzKernels& kernels_;
};

// Every rest of the rows that a kernel takes at once.
constexpr int64_t kRows[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 23};

TEST_P(ToeplitzTest, ProductsFollowTheFormulaAndTouchNothingElse) {
  const int64_t lanes = kernels_.lanes;
  const std::vector<float> source = RandomFloats(static_cast<size_t>(24 * lanes), 1), before = RandomFloats(500, 2);
  for (int columns = 1; columns <= kernels_.most_columns; ++columns) {
    const std::vector<float> weights =
        RandomFloats(static_cast<size_t>(columns - 1 + lanes), 3);  // nothing else is read
    for (const int64_t rows : kRows) {
      SCOPED_TRACE(std::to_string(columns) + " columns, " + std::to_string(rows) + " rows");
      std::vector<float> results = before;
      kernels_.products[columns]({weights.data() + columns - 1, source.data(), results.data() + 3, rows});
      for (int64_t i = 0; i < 500; ++i) {
        const int64_t r = (i - 3) / lanes, l = (i - 3) % lanes;
        double expected = before[i];
        for (int64_t j = 0; i >= 3 && r < rows && j < columns; ++j) {
          expected += double{source[r * lanes + j]} * weights[columns - 1 + l - j];
        }
        ASSERT_NEAR(results[i], expected, 1e-5) << i;
      }
    }
  }
}

TEST_P(ToeplitzTest, SumsFollowDiagonalsAndLeaveColumnsBehindTheWidthOut) {
  const int64_t lanes = kernels_.lanes;
  const std::vector<float> a = RandomFloats(static_cast<size_t>(24 * lanes), 4),
                           b = RandomFloats(static_cast<size_t>(24 * lanes), 5);
  for (int columns = 1; columns <= kernels_.most_columns; ++columns) {
    for (int64_t width = 1; width <= lanes; ++width) {
      for (const int64_t rows : {0, 1, 23}) {
        SCOPED_TRACE(std::to_string(columns) + " columns, width " + std::to_string(width));
        std::vector<float> sums(static_cast<size_t>(columns - 1 + lanes + 1), -5);
        kernels_.sums[columns]({a.data(), b.data(), rows, width, sums.data()});
        std::vector<double> expected(sums.size(), 0);
        expected.back() = -5;
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t i = 0; i < columns; ++i) {
            for (int64_t l = 0; l < width; ++l) {
              expected[l - i + columns - 1] += double{a[r * lanes + i]} * b[r * lanes + l];
            }
          }
        }
        for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected[i], 1e-4) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ToeplitzTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
