// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/depth_lanes/contract.h"
#include "kernels/dispatch.h"
#include "kernels/streams.h"
#include "tests/kernels/random_floats.h"

namespace canopy::kernels {
namespace {

class DepthLanesTest : public testing::TestWithParam<int64_t> {
 protected:
  DepthLanesTest() : scoped_(GetParam()), kernels_(DepthLanes()), lanes_(kernels_.lanes) {}

  // Of kRows x kColumns pixels, each tensor with steps of its own.
  void Check(DepthResults what, int rows, int columns, int64_t width, bool before) const {
    constexpr int64_t kHeight = 3;
    const std::vector<float> g = RandomFloats(40000, 1), x = RandomFloats(20000, 2), from = RandomFloats(20000, 3),
                             taps = RandomFloats(20000, 4);
    std::vector<float> result(20000, -5), sums(20000, 1);
    DepthCall call{};
    call.g = g.data() + 20000;
    call.g_row = 21 * lanes_;
    call.x = {x.data() + 3, 23 * lanes_ + 1, 2 * lanes_ + 1};
    call.before = {from.data() + 1, before ? 17 * lanes_ : 0, before ? lanes_ + 2 : 0};
    call.result = {result.data() + 2, 29 * lanes_, 2 * lanes_ + 3};
    call.rows = kHeight;
    call.columns = width;
    call.taps = taps.data() + 5;
    call.sums = sums.data() + 5;
    call.tap_row = 18 * lanes_;
    call.tap_column = lanes_ + 1;
    kernels_.kernels[what][rows][columns](call);
    std::vector<double> expected(result.size(), -5), expected_sums(sums.size(), 1);
    for (int64_t i = 0; i < kHeight * width * lanes_; ++i) {
      const int64_t y = i / lanes_ / width, p = i / lanes_ % width, l = i % lanes_;
      double sum = call.before.first[y * call.before.row + p * call.before.column + l];
      for (int t = 0; t < rows * columns; ++t) {
        const int64_t r = t / columns, s = t % columns, tap = r * call.tap_row + s * call.tap_column + l;
        const double gradient = call.g[(y - r) * call.g_row + (p - s) * lanes_ + l];
        sum += call.taps[tap] * gradient;
        const double product = call.x.first[y * call.x.row + p * call.x.column + l] * gradient;
        if (what != kDepthData) expected_sums[5 + tap] += product;
      }
      if (what != kDepthWeights) expected[2 + y * call.result.row + p * call.result.column + l] = sum;
    }
    const std::string trace = std::to_string(rows) + "x" + std::to_string(columns) + ", results " +
                              std::to_string(what) + ", " + std::to_string(width) + " columns, element ";
    for (size_t i = 0; i < result.size(); ++i) ASSERT_NEAR(result[i], expected[i], 1e-5) << trace << i;
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected_sums[i], 1e-4) << trace << i;
  }

  const ScopedTarget scoped_;
  const DepthKernels& kernels_;
  const int lanes_;
};

TEST_P(DepthLanesTest, GiveWhatTheFormulaSaysAndTouchNothingElse) {
  for (int rows = 1; rows <= kMostDepthRows; ++rows) {
    for (int columns = 1; columns <= kernels_.most_columns[rows]; ++columns) {
      for (const DepthResults what : {kDepthBoth, kDepthData, kDepthWeights}) {
        for (const int64_t width : {1, 4, 7}) {  // with and without columns left over
          Check(what, rows, columns, width, (rows + columns + width) % 2 == 0);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(DepthLanesTest, WriteTheSamePastTheCaches) {
  if (lanes_ != kMemoryLineFloats) GTEST_SKIP() << "a pixel is not a line of memory";
  const std::vector<float> g = RandomFloats(40000, 1), x = RandomFloats(20000, 2), taps = RandomFloats(5000, 3);
  alignas(kMemoryLine) constexpr float kZeros[kMostDepthLanes] = {};
  for (const DepthResults what : {kDepthBoth, kDepthData}) {
    std::vector<float> results[2];
    for (const bool streamed : {false, true}) {
      std::vector<float> memory(20000, -5), sums(5000, 1);
      float* first = memory.data() + kMemoryLineFloats -
                     reinterpret_cast<uintptr_t>(memory.data()) / sizeof(float) % kMemoryLineFloats;
      DepthCall call{};
      call.g = g.data() + 20000;
      call.g_row = 21 * lanes_;
      call.x = {x.data(), 23 * lanes_, 2 * lanes_};
      call.before = {kZeros, 0, 0};
      call.result = {first, 29 * lanes_, 3 * lanes_};
      call.rows = 3;
      call.columns = 7;
      call.taps = taps.data();
      call.sums = sums.data();
      call.tap_row = 3 * lanes_;
      call.tap_column = lanes_;
      call.far = streamed;
      call.ahead[0] = call.ahead[1] = call.ahead[2] = {reinterpret_cast<const char*>(g.data()), 64};
      kernels_.kernels[what][3][3](call);
      FinishStreams();
      results[streamed].assign(first, first + 15000);
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_NE(results[1][0], -5);
    EXPECT_EQ(results[1][static_cast<size_t>(lanes_)], -5);
  }
}

TEST_P(DepthLanesTest, AddUpPixels) {
  for (const int64_t count : {0, 1, 4, 7, 1023, 1030, 2050}) {
    const std::vector<float> from = RandomFloats(static_cast<size_t>(count * lanes_), 1);
    std::vector<float> sum(static_cast<size_t>(lanes_), 2);
    std::vector<double> expected(sum.begin(), sum.end());
    kernels_.add_up(from.data(), count, sum.data());
    for (int64_t i = 0; i < count * lanes_; ++i) expected[i % lanes_] += from[i];
    for (int l = 0; l < lanes_; ++l) ASSERT_NEAR(sum[l], expected[l], 1e-4) << count << ", lane " << l;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DepthLanesTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
