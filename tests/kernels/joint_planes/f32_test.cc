// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/joint_planes/contract.h"

namespace canopy::kernels {
namespace {

std::vector<float> Random(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = real(random);
  return values;
}

struct Shape {
  JointResults what;
  int rows, columns;                // of the kernel
  int64_t images, height, vectors;  // of the planes
  bool tail, before;

  std::string Text() const {
    return std::to_string(rows) + "x" + std::to_string(columns) + ", results " + std::to_string(what) + ", " +
           std::to_string(images) + " images of " + std::to_string(height) + " rows of " + std::to_string(vectors) +
           " vectors, tail " + std::to_string(tail) + ", before " + std::to_string(before);
  }
};

class JointPlanesTest : public testing::TestWithParam<int64_t> {
 protected:
  JointPlanesTest() : scoped_(GetParam()), kernels_(JointPlanes()), lanes_(kernels_.lanes) {}

  JointCall CallOf(const Shape& shape, float* result, float* sums) const {
    JointCall call{};
    call.g = {g_.data() + 1500, 1300, 3 * lanes_ + 5};
    call.x = {x_.data() + 3, 1200, 3 * lanes_ + 1};
    if (shape.before) call.before = {before_.data() + 2, 1100, 3 * lanes_ + 2};
    call.result = {result, 1150, 3 * lanes_ + 3};
    call.images = shape.images;
    call.rows = shape.height;
    call.vectors = shape.vectors;
    call.last_lanes = shape.tail ? (lanes_ + 1) / 2 : 0;
    call.taps = taps_.data() + 100;
    call.taps_row = -13;
    call.taps_column = 2;
    call.sums = sums;
    call.sums_row = shape.columns * lanes_;
    call.sums_column = lanes_;
    return call;
  }

  void Check(const Shape& shape) const {
    std::vector<float> result(4000, -5), sums(static_cast<size_t>(shape.rows * shape.columns * lanes_), 1);
    const JointCall call = CallOf(shape, result.data() + 1, sums.data());
    kernels_.kernels[shape.what][shape.rows][shape.columns](call);
    std::vector<double> expected(result.size(), -5), expected_sums(sums.size(), 1);
    const int64_t width = (shape.vectors - 1) * lanes_ + (call.last_lanes > 0 ? call.last_lanes : lanes_);
    for (int64_t n = 0; n < shape.images; ++n) {
      for (int64_t y = 0; y < shape.height; ++y) {
        for (int64_t i = 0; i < width; ++i) {
          double sum = shape.before ? call.before.first[n * call.before.image + y * call.before.row + i] : 0;
          for (int r = 0; r < shape.rows; ++r) {
            for (int s = 0; s < shape.columns; ++s) {
              const double g = call.g.first[n * call.g.image + (y - r) * call.g.row + i - s];
              sum += call.taps[r * call.taps_row + s * call.taps_column] * g;
              if (shape.what == kJointData) continue;
              expected_sums[(r * shape.columns + s) * lanes_ + i % lanes_] +=
                  call.x.first[n * call.x.image + y * call.x.row + i] * g;
            }
          }
          if (shape.what != kJointWeights) expected[1 + n * call.result.image + y * call.result.row + i] = sum;
        }
      }
    }
    for (size_t i = 0; i < result.size(); ++i) ASSERT_NEAR(result[i], expected[i], 1e-5) << shape.Text() << " at " << i;
    for (size_t i = 0; i < sums.size(); ++i)
      ASSERT_NEAR(sums[i], expected_sums[i], 1e-4) << shape.Text() << " at " << i;
  }

  const ScopedTarget scoped_;
  const JointKernels& kernels_;
  const int lanes_;
  const std::vector<float> g_ = Random(6000, 1), x_ = Random(4000, 2), before_ = Random(4000, 3),
                           taps_ = Random(200, 4);
};

TEST_P(JointPlanesTest, GiveWhatTheFormulaSaysAndTouchNothingElse) {
  for (int rows = 1; rows <= kMostJointRows; ++rows) {
    for (int columns = 1; columns <= kernels_.most_columns[rows]; ++columns) {
      for (const JointResults what : {kJointBoth, kJointData, kJointWeights}) {
        for (const int64_t height : {1, 3, 7, 14}) {  // with and without rows left over
          for (const int64_t vectors : {1, 3}) {
            for (const bool tail : {false, true}) {
              if (tail && !kernels_.tails) continue;
              Check({what, rows, columns, 2, height, vectors, tail, what != kJointWeights && height % 2 == 1});
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

// Every second column of x and the results, under three kernel columns.
TEST_P(JointPlanesTest, PairsGiveWhatTheFormulaSaysAndTouchNothingElse) {
  constexpr int64_t kImages = 2, kHeight = 3, kVectors = 2;
  if (!kernels_.tails) GTEST_SKIP() << "there are none";
  for (int rows = 1; rows <= kMostJointPairRows; ++rows) {
    for (const JointResults what : {kJointBoth, kJointData, kJointWeights}) {
      for (const bool even : {false, true}) {
        for (const int64_t last : {int64_t{0}, int64_t{lanes_} - 1, int64_t{lanes_} + 3}) {
          if (kernels_.pairs[what][rows][even] == nullptr) GTEST_SKIP() << "there are none";
          SCOPED_TRACE(std::to_string(rows) + " rows, results " + std::to_string(what) + ", even " +
                       std::to_string(even) + ", last " + std::to_string(last));
          std::vector<float> result(4000, -5), sums(static_cast<size_t>(rows * 3 * lanes_), 1);
          JointCall call =
              CallOf({what, rows, 3, kImages, kHeight, kVectors, false, false}, result.data() + 1, sums.data());
          call.x.row = call.result.row = 5 * lanes_;
          call.last_lanes = static_cast<int>(last);
          kernels_.pairs[what][rows][even](call);
          std::vector<double> expected(result.size(), -5), expected_sums(sums.size(), 1);
          const int64_t width = 2 * lanes_ * kVectors - (last > 0 ? 2 * lanes_ - last : 0);
          for (int64_t i = 0; i < kImages * kHeight * width; ++i) {
            const int64_t n = i / width / kHeight, y = i / width % kHeight, w = i % width;
            double sum = 0;
            for (int t = 0; t < 3 * rows; ++t) {
              const int r = t / 3, s = t % 3;
              if ((s == 1) == ((w % 2 == 0) == even)) continue;
              const int shift = s == 1 ? (even ? 0 : 1) : s / 2;
              const double g = call.g.first[n * call.g.image + (y - r) * call.g.row + w / 2 - shift];
              sum += call.taps[r * call.taps_row + s * call.taps_column] * g;
              if (what == kJointData) continue;
              expected_sums[t * lanes_ + w / 2 % lanes_] += call.x.first[n * call.x.image + y * call.x.row + w] * g;
            }
            if (what != kJointWeights) expected[1 + n * call.result.image + y * call.result.row + w] = sum;
          }
          for (size_t i = 0; i < result.size(); ++i) ASSERT_NEAR(result[i], expected[i], 1e-5) << "at " << i;
          for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected_sums[i], 1e-4) << "at " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, JointPlanesTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
