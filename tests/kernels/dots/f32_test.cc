// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/dots/contract.h"
#include "tests/kernels/random_floats.h"

namespace canopy::kernels {
namespace {

class DotsTest : public testing::TestWithParam<int64_t> {
 protected:
  DotsTest() : scoped_(GetParam()), kernels_(Dots()) {}

  // Each row's sums, and behind them its own if the kernel gives that, lie in a row that is longer by a vector.
  void ExpectFormula(DotsFn kernel, int rows, int columns, bool summing) const {
    const int64_t lanes = kernels_.lanes, a_row = 5 * lanes + 3;
    const std::vector<float> a = RandomFloats(2000, 1), b = RandomFloats(1000, 2);
    const int64_t offsets[] = {3, 0, 40, 41, 7, 7, 90, 1};
    const int64_t results = columns + (summing ? 1 : 0), sums_row = (results + 1) * lanes;
    for (const int64_t vectors : {1, 2, 3, 4, 5}) {
      const int64_t lines = vectors < 4 ? vectors : 1, a_line = 20 * lanes + 1, b_line = 7;
      SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(columns) + ", " + std::to_string(vectors));
      std::vector<float> sums(static_cast<size_t>(rows * sums_row), 1);
      const bool first = vectors % 2 == 0;
      DotsCall call{a.data() + 1, a_row, b.data() + 2, offsets, vectors, sums.data(), sums_row, first};
      call.row_sums = sums.data() + columns * lanes;
      call.row_sums_row = sums_row;
      call.lines = lines;
      call.a_line = a_line;
      call.b_line = b_line;
      kernel(call);
      for (int64_t i = 0; i < rows * sums_row; ++i) {
        const int64_t r = i / sums_row, c = i % sums_row / lanes, l = i % lanes;
        double sum = first && c < results ? 0 : 1;
        for (int64_t v = 0; v < lines * vectors && c < results; ++v) {
          const int64_t line = v / vectors, at = v % vectors * lanes + l;
          const double factor = c < columns ? call.b[offsets[c] + line * b_line + at] : 1;
          sum += double{call.a[r * a_row + line * a_line + at]} * factor;
        }
        ASSERT_NEAR(sums[i], sum, 1e-5) << "row " << r << " column " << c << " lane " << l;
      }
    }
  }

  const ScopedTarget scoped_;
  const DotsKernels& kernels_;
};

TEST_P(DotsTest, SumsFollowTheFormulaAndTouchNothingElse) {
  for (int rows = 1; rows <= kMostDotsRows; ++rows) {
    for (int columns = 1; columns <= kernels_.most_columns[rows]; ++columns) {
      ExpectFormula(kernels_.dots[rows][columns], rows, columns, false);
    }
  }
}

TEST_P(DotsTest, SummingKernelsGiveTheRowsSumsToo) {
  EXPECT_GT(kernels_.most_summing_columns[kernels_.most_rows()], 0);
  for (int rows = 1; rows <= kMostDotsRows; ++rows) {
    for (int columns = 1; columns <= kernels_.most_summing_columns[rows]; ++columns) {
      ExpectFormula(kernels_.summing[rows][columns], rows, columns, true);
    }
  }
}

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
