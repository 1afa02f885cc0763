// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/winograd/contract.h"

namespace canopy::kernels {
namespace {

constexpr int64_t kCounts[] = {16, 48};
constexpr float kUnread = std::numeric_limits<float>::quiet_NaN();  // between the lines

class WinogradTest : public testing::TestWithParam<int64_t> {};

struct Sides {
  int rows, columns;  // a line has one row
  int count() const { return rows * columns; }
};

// Lines of channels, scattered: in reverse, with gaps that hold NaN.
struct Tile {
  Tile(Sides sides, int64_t count)
      : sides(sides), count(count), data(static_cast<size_t>(sides.count() * (count + 5)), kUnread) {
    for (int e = sides.count() - 1; e >= 0; --e) offsets.push_back(e * (count + 5));
  }
  float* line(int e) { return data.data() + offsets[e]; }
  void Fill(std::mt19937* random) {
    std::uniform_real_distribution<float> real(-1, 1);
    for (const int64_t offset : offsets) {
      for (int64_t c = 0; c < count; ++c) data[offset + c] = real(*random);
    }
  }

  Sides sides;
  int64_t count;
  std::vector<float> data;
  std::vector<int64_t> offsets;
};

// Whether a window of `pixels` has numbers at point `index` of an axis.
bool Has(int pixels, int index) { return pixels == 1 ? index == 0 : index + 1 < pixels || index == 5; }

// A window correlated with a kernel through the points and by the definition.
void ExpectCorrelation(Sides kernel_sides, Sides results, int64_t count) {
  const Sides pixels{kernel_sides.rows + results.rows - 1, kernel_sides.columns + results.columns - 1};
  const int axes = pixels.rows == 1 ? 1 : 2;
  const WinogradKernels& kernels = Winograd(axes);
  std::mt19937 random(static_cast<uint32_t>(count + kernel_sides.columns));
  Tile window(pixels, count), kernel(kernel_sides, count), result(results, count);
  window.Fill(&random);
  kernel.Fill(&random);
  const int64_t step = count + 16;
  std::vector<float> points(static_cast<size_t>(WinogradPoints(axes) * step), kUnread), factors = points;
  kernels.input[pixels.rows][pixels.columns](window.data.data(), window.offsets.data(), count, points.data(), step);
  kernels.kernel[kernel_sides.rows][kernel_sides.columns](kernel.data.data(), kernel.offsets.data(), count,
                                                          factors.data(), step);
  for (int64_t i = 0; i < WinogradPoints(axes) * step; ++i) {
    const int point = static_cast<int>(i / step);
    const bool has = Has(pixels.rows, point / 6) && Has(pixels.columns, point % 6);
    EXPECT_EQ(std::isnan(points[i]), i % step >= count || !has);  // nothing else is written
    EXPECT_EQ(std::isnan(factors[i]), i % step >= count);
    points[i] *= factors[i];
  }
  kernels.results[kernel_sides.columns][results.rows][results.columns](points.data(), step, count, result.data.data(),
                                                                       result.offsets.data());
  for (int64_t c = 0; c < count; ++c) {
    for (int e = 0; e < results.count(); ++e) {
      double expected = 0, magnitude = 0;
      for (int i = 0; i < kernel_sides.count(); ++i) {
        const int row = e / results.columns + i / kernel_sides.columns;
        const int column = e % results.columns + i % kernel_sides.columns;
        const double term = static_cast<double>(window.line(row * pixels.columns + column)[c]) * kernel.line(i)[c];
        expected += term;
        magnitude += std::abs(term);
      }
      // The transforms' coefficients raise the rounding of 2^-24 by two orders at most.
      EXPECT_NEAR(result.line(e)[c], expected, 1e-5 * (magnitude + 1)) << "channel " << c << ", result " << e;
    }
  }
  for (size_t i = 0; i < result.data.size(); ++i) {
    EXPECT_EQ(std::isnan(result.data[i]), static_cast<int64_t>(i) % (count + 5) >= count);
  }
}

TEST_P(WinogradTest, KernelsAndResultsFillAWindow) {
  const ScopedTarget scoped(GetParam());
  const auto all_results = [](int k, int rows, int64_t count) {
    const int fewest = std::max(1, kFewestWinogradPoints + 1 - k);
    for (int results = fewest; results <= 7 - k; ++results) {
      for (int columns = fewest; columns <= 7 - k; ++columns) {
        ExpectCorrelation({rows, k}, {rows == 1 ? 1 : results, columns}, count);
      }
    }
  };
  for (int k = kLeastWinogradKernel; k <= kMostWinogradKernel; ++k) {
    for (const int64_t count : kCounts) {
      all_results(k, 1, count);
      all_results(k, k, count);
    }
  }
}

// Missing elements share one line of zeros, unwanted results one line that nobody reads.
TEST_P(WinogradTest, OffsetsMayCoincide) {
  const ScopedTarget scoped(GetParam());
  constexpr int64_t kCount = kWinogradLanes;
  for (const int axes : {1, 2}) {
    std::vector<float> zeros(kCount, 0.0f), points(static_cast<size_t>(WinogradPoints(axes) * kCount), 1.0f);
    std::vector<float> tile(2 * kCount, kUnread);
    const std::vector<int64_t> same(36, 0);
    const int window_rows = axes == 1 ? 1 : 6, result_rows = axes == 1 ? 1 : 4;
    Winograd(axes).input[window_rows][6](zeros.data(), same.data(), kCount, points.data(), kCount);
    for (const float value : points) EXPECT_EQ(value, 0);
    points.assign(points.size(), 1.0f);
    std::vector<int64_t> offsets(16, kCount);
    offsets[0] = 0;
    Winograd(axes).results[3][result_rows][4](points.data(), kCount, kCount, tile.data(), offsets.data());
    for (int64_t c = 0; c < kCount; ++c) EXPECT_EQ(tile[c], axes == 1 ? 5 : 25);  // every finite point, or pair, once
  }
}

// Any number of rows, compared bit by bit.
TEST_P(WinogradTest, AKernelInRegistersMultipliesInOrder) {
  const ScopedTarget scoped(GetParam());
  const WinogradProductFn product = WinogradProduct();
  if (product == nullptr) GTEST_SKIP() << "the registers do not hold a kernel";
  constexpr int64_t kLanes = kWinogradLanes, kMostRows = 19;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> real(-1, 1);
  std::vector<float> windows(kMostRows * kLanes), kernel(kLanes * kLanes);
  for (float& value : windows) value = real(random);
  for (float& value : kernel) value = real(random);
  for (int64_t rows = 0; rows <= kMostRows; ++rows) {
    std::vector<float> sums(static_cast<size_t>((kMostRows + 1) * kLanes), kUnread);
    std::vector<int64_t> offsets;
    for (int64_t r = 0; r < rows; ++r) offsets.push_back((r < 3 ? 2 - r : r) * kLanes);  // in any order
    product(windows.data(), kernel.data(), offsets.data(), rows, sums.data());
    for (int64_t i = 0; i < (kMostRows + 1) * kLanes; ++i) {
      const int64_t row = i / kLanes;
      if (row >= rows) {
        EXPECT_TRUE(std::isnan(sums[i])) << "row " << row << " of " << rows;
        continue;
      }
      float expected = 0;
      for (int64_t k = 0; k < kLanes; ++k) {
        expected = std::fma(windows[offsets[row] + k], kernel[k * kLanes + i % kLanes], expected);
      }
      EXPECT_EQ(sums[i], expected) << "row " << row << " of " << rows << ", lane " << i % kLanes;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, WinogradTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return TargetName(info.param); });

}  // namespace
}  // namespace canopy::kernels
