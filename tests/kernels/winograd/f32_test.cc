// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

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

constexpr int Power(int n, int axes) { return axes == 1 ? n : n * n; }

// n or n x n lines of channels, scattered: in reverse, with gaps that hold NaN.
struct Tile {
  Tile(int n, int axes, int64_t count)
      : count(count), data(static_cast<size_t>(Power(n, axes) * (count + 5)), kUnread) {
    for (int e = Power(n, axes) - 1; e >= 0; --e) offsets.push_back(e * (count + 5));
  }
  float* line(int e) { return data.data() + offsets[e]; }
  void Fill(std::mt19937* random) {
    std::uniform_real_distribution<float> real(-1, 1);
    for (const int64_t offset : offsets) {
      for (int64_t c = 0; c < count; ++c) data[offset + c] = real(*random);
    }
  }

  int64_t count;
  std::vector<float> data;
  std::vector<int64_t> offsets;
};

// A window correlated with a kernel of k, or k x k, through the points and by the definition.
void ExpectCorrelation(int k, int axes, int64_t count) {
  const int results = 7 - k;
  std::mt19937 random(static_cast<uint32_t>(count + k));
  Tile window(6, axes, count), kernel(k, axes, count), result(results, axes, count);
  window.Fill(&random);
  kernel.Fill(&random);
  const int64_t step = count + 16;
  std::vector<float> points(static_cast<size_t>(WinogradPoints(axes) * step), kUnread), factors = points;
  Winograd(axes).input(window.data.data(), window.offsets.data(), count, points.data(), step);
  Winograd(axes).kernel[k](kernel.data.data(), kernel.offsets.data(), count, factors.data(), step);
  for (int64_t i = 0; i < WinogradPoints(axes) * step; ++i) {
    EXPECT_EQ(std::isnan(points[i]), i % step >= count);  // nothing else is written
    EXPECT_EQ(std::isnan(factors[i]), i % step >= count);
    points[i] *= factors[i];
  }
  Winograd(axes).results[results](points.data(), step, count, result.data.data(), result.offsets.data());
  for (int64_t c = 0; c < count; ++c) {
    for (int e = 0; e < Power(results, axes); ++e) {
      double expected = 0, magnitude = 0;
      for (int i = 0; i < Power(k, axes); ++i) {
        const int at = (e / results + i / k) * 6 + e % results + i % k;  // a line is the first row
        const double term = static_cast<double>(window.line(at)[c]) * kernel.line(i)[c];
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
  for (const int axes : {1, 2}) {
    for (int k = kLeastWinogradKernel; k <= kMostWinogradKernel; ++k) {
      for (const int64_t count : kCounts) ExpectCorrelation(k, axes, count);
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
    Winograd(axes).input(zeros.data(), same.data(), kCount, points.data(), kCount);
    for (const float value : points) EXPECT_EQ(value, 0);
    points.assign(points.size(), 1.0f);
    std::vector<int64_t> offsets(16, kCount);
    offsets[0] = 0;
    Winograd(axes).results[4](points.data(), kCount, kCount, tile.data(), offsets.data());
    for (int64_t c = 0; c < kCount; ++c) EXPECT_EQ(tile[c], Power(5, axes));  // every finite point, or pair, once
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
    product(windows.data(), kernel.data(), rows, sums.data());
    for (int64_t i = 0; i < (kMostRows + 1) * kLanes; ++i) {
      if (i >= rows * kLanes) {
        EXPECT_TRUE(std::isnan(sums[i])) << "row " << i / kLanes << " of " << rows;
        continue;
      }
      float expected = 0;
      for (int64_t k = 0; k < kLanes; ++k) {
        expected = std::fma(windows[i / kLanes * kLanes + k], kernel[k * kLanes + i % kLanes], expected);
      }
      EXPECT_EQ(sums[i], expected) << "row " << i / kLanes << " of " << rows << ", lane " << i % kLanes;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, WinogradTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return TargetName(info.param); });

}  // namespace
}  // namespace canopy::kernels
