// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/joint_planes/contract.h"
#include "tests/kernels/elements.h"
#include "tests/kernels/joint_planes/fixture.h"

namespace canopy::kernels {
namespace {

class JointPlanesTest : public JointPlanesFixture {
 protected:
  void Check(const Shape& shape) const {
    const Elements x(shape.form, x_);
    Elements result(shape.form, std::vector<float>(kResults, -5));
    std::vector<float> sums = OnesOf(shape);
    const JointCall call = CallOf(shape, x, &result, sums.data());
    JointPlanes(shape.form).kernels[shape.what][shape.rows][shape.columns](call);
    std::vector<double> expected(kResults, -5), expected_sums(sums.size(), 1);
    const int64_t width = (shape.vectors - 1) * lanes_ + (call.last_lanes > 0 ? call.last_lanes : lanes_);
    for (int64_t n = 0; n < shape.planes; ++n) {
      for (int64_t y = 0; y < shape.height; ++y) {
        for (int64_t i = 0; i < width; ++i) {
          double sum = shape.before ? call.before.first[n * call.before.plane + y * call.before.row + i] : 0;
          for (int r = 0; r < shape.rows; ++r) {
            for (int s = 0; s < shape.columns; ++s) {
              const double g = gradient_[kFirstG + n * kGPlane + (y - r) * g_row() + i - s];
              sum += call.taps[n * call.taps_plane + r * call.taps_row + s * call.taps_column] * g;
              if (shape.what == kJointData) continue;
              expected_sums[n * call.sums_plane + (r * shape.columns + s) * lanes_ + i % lanes_] +=
                  x.Read(kFirstX + n * kXPlane + y * x_row() + i) * g;
            }
          }
          if (shape.what != kJointWeights) expected[kFirstResult + n * kResultPlane + y * result_row() + i] = sum;
        }
      }
    }
    SCOPED_TRACE(shape.Text());
    ExpectResults(shape.form, result, expected);
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected_sums[i], 1e-4) << "at " << i;
  }

  void CheckPairs(const Shape& shape, bool even, int64_t last, bool adds) const {
    SCOPED_TRACE(shape.Text() + ", adds " + std::to_string(adds));
    const Elements x(shape.form, x_);
    Elements result(shape.form, std::vector<float>(kResults, -5));
    std::vector<float> sums = OnesOf(shape);
    JointCall call = CallOf(shape, x, &result, sums.data());
    const int64_t row = 5 * lanes_;
    call.x.row = call.result.row = row * x.size();
    call.last_lanes = static_cast<int>(last);
    call.adds = adds;
    JointPlanes(shape.form).pairs[shape.what][shape.rows][even](call);
    std::vector<double> expected(kResults, -5), expected_sums(sums.size(), 1);
    const int64_t width = 2 * lanes_ * shape.vectors - (last > 0 ? 2 * lanes_ - last : 0);
    for (int64_t i = 0; i < shape.planes * shape.height * width; ++i) {
      const int64_t n = i / width / shape.height, y = i / width % shape.height, w = i % width;
      double sum = adds ? -5 : 0;
      for (int t = 0; t < 3 * shape.rows; ++t) {
        const int r = t / 3, s = t % 3;
        if ((s == 1) == ((w % 2 == 0) == even)) continue;
        const int shift = s == 1 ? (even ? 0 : 1) : s / 2;
        const double g = gradient_[kFirstG + n * kGPlane + (y - r) * g_row() + w / 2 - shift];
        sum += call.taps[n * call.taps_plane + r * call.taps_row + s * call.taps_column] * g;
        if (shape.what != kJointData) {
          expected_sums[n * call.sums_plane + t * lanes_ + w / 2 % lanes_] +=
              x.Read(kFirstX + n * kXPlane + y * row + w) * g;
        }
      }
      if (shape.what != kJointWeights) expected[kFirstResult + n * kResultPlane + y * row + w] = sum;
    }
    ExpectResults(shape.form, result, expected);
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected_sums[i], 1e-4) << "at " << i;
  }

  // Planes of `height` rows of `width`, the rows from `first` to `end` of which are asked for.
  void CheckNarrow(convert::Form form, JointResults what, int64_t height, int64_t width, int64_t first, int64_t end,
                   bool adds) const {
    const Shape shape{form, what, 3, 3, 2, end - first, (width + lanes_ - 1) / lanes_, false, false};
    SCOPED_TRACE(shape.Text() + ", adds " + std::to_string(adds) + ", width " + std::to_string(width) + ", from row " +
                 std::to_string(first) + " of " + std::to_string(height));
    const bool rounds = RoundingOf(form) != numerics::InputRounding::kNone;
    const Elements unrounded(rounds ? convert::Form::kFloat32 : form, g_), gradient(form, g_), x(form, x_);
    Elements result(form, std::vector<float>(kResults, -5));
    std::vector<float> sums = OnesOf(shape), bias(2, 1);
    JointCall call = CallOf(shape, x, &result, sums.data());
    PlaceGradient(gradient, &call);
    call.last_lanes = static_cast<int>(width - (call.vectors - 1) * lanes_);
    call.above = first > 0;
    call.below = end < height;
    call.bias = bias.data();
    call.adds = adds;
    JointPlanes(form).narrow[what](call);
    std::vector<double> expected(kResults, -5), expected_sums(sums.size(), 1);
    std::vector<double> expected_bias(2, 1);
    for (int64_t i = 0; i < call.planes * (end - first) * width; ++i) {
      const int64_t n = i / width / (end - first), y = i / width % (end - first), w = i % width;
      const auto g = [&](int64_t row, int64_t column) {
        const bool seen = first + row >= 0 && first + row < height && column >= 0 && column < width;
        return seen ? gradient.Read(kFirstG + n * kGPlane + row * g_row() + column) : 0.0;
      };
      double sum = adds ? -5 : 0;
      for (int t = 0; t < 9; ++t) {
        const double met = g(y + 1 - t / 3, w + 1 - t % 3);
        sum += call.taps[n * call.taps_plane + t / 3 * call.taps_row + t % 3 * call.taps_column] * met;
        if (what != kJointData) {
          expected_sums[n * call.sums_plane + t * lanes_ + w % lanes_] +=
              x.Read(kFirstX + n * kXPlane + y * x_row() + w) * met;
        }
      }
      expected_bias[n] += unrounded.Read(kFirstG + n * kGPlane + y * g_row() + w);
      if (what != kJointWeights) expected[kFirstResult + n * kResultPlane + y * result_row() + w] = sum;
    }
    ExpectResults(form, result, expected);
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected_sums[i], 1e-4) << "at " << i;
    for (size_t n = 0; n < 2; ++n) ASSERT_NEAR(bias[n], expected_bias[n], 1e-3) << "of plane " << n;
  }

  // Every number of rows left over, at all places of a plane.
  void CheckNarrowHeights(convert::Form form, JointResults what, int64_t width) const {
    const bool adds = TypeOf(form) == numerics::DType::kFloat32 && what != kJointWeights;
    for (const int64_t height : {5, 6, 7, 8, 9, 14}) {
      CheckNarrow(form, what, height, width, 0, height, false);
      CheckNarrow(form, what, height, width, 0, kJointNarrowRows, false);
      CheckNarrow(form, what, height, width, kJointNarrowRows, height, false);
      if (adds) CheckNarrow(form, what, height, width, 0, height, true);
      if (HasFatalFailure()) return;
    }
    CheckNarrow(form, what, 14, width, kJointNarrowRows, 3 * kJointNarrowRows, false);
  }
};

TEST_P(JointPlanesTest, GiveWhatTheFormulaSaysAndTouchNothingElse) {
  int64_t kernels = 0;
  for (const convert::Form form : kReadForms) {
    const bool adds = TypeOf(form) == numerics::DType::kFloat32;
    for (int i = 0; i < kMostJointRows * kMostJointColumns * 3; ++i) {
      const int rows = i / 3 / kMostJointColumns + 1, columns = i / 3 % kMostJointColumns + 1;
      const JointResults what = static_cast<JointResults>(i % 3);
      if (JointPlanes(form).kernels[what][rows][columns] == nullptr) continue;
      ++kernels;
      for (const int64_t height : {1, 3, 7, 14}) {  // with and without rows left over
        for (const int64_t vectors : {1, 3}) {
          for (const bool tail : {false, true}) {
            if (tail && !kernels_.tails) continue;
            const bool before = adds && what != kJointWeights && height % 2 == 1;
            Check({form, what, rows, columns, 2, height, vectors, tail, before});
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_GT(kernels, 10);
}

// Every second column of x and the results, under three kernel columns.
TEST_P(JointPlanesTest, PairsGiveWhatTheFormulaSaysAndTouchNothingElse) {
  if (kernels_.pairs[kJointWeights][1][0] == nullptr) GTEST_SKIP() << "they need AVX2, or masks";
  for (const convert::Form form : kReadForms) {
    for (int rows = 1; rows <= kMostJointPairRows; ++rows) {
      for (const JointResults what : {kJointBoth, kJointData, kJointWeights}) {
        if (JointPlanes(form).pairs[what][rows][0] == nullptr) continue;
        for (const bool even : {false, true}) {
          for (const int64_t last : {int64_t{0}, int64_t{lanes_} - 1, int64_t{lanes_} + 3}) {
            SCOPED_TRACE("even " + std::to_string(even) + ", last " + std::to_string(last));
            const bool adds = TypeOf(form) == numerics::DType::kFloat32 && what != kJointWeights;
            CheckPairs({form, what, rows, 3, 2, 3, 2, false, false}, even, last, false);
            if (adds) CheckPairs({form, what, rows, 3, 2, 3, 2, false, false}, even, last, true);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// What lies around the output's gradient is not 0 here.
TEST_P(JointPlanesTest, NarrowGiveWhatTheFormulaSaysAndTouchNothingElse) {
  if (kernels_.narrow[kJointBoth] == nullptr) GTEST_SKIP() << "they need lanes that move";
  for (const convert::Form form : kReadForms) {
    for (const JointResults what : {kJointBoth, kJointData, kJointWeights}) {
      for (const int64_t width : {1, 2, lanes_ - 1, lanes_}) {
        CheckNarrowHeights(form, what, width);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(JointPlanesTest, WriteTheSamePastTheCaches) {
  if (kernels_.narrow[kJointBoth] == nullptr) GTEST_SKIP() << "they need lanes that move";
  for (const JointResults what : {kJointBoth, kJointData}) {
    for (const int width : {4, lanes_ - 4, lanes_}) {  // four rows are whole lines
      for (const int64_t height : {5, 8, 14}) {
        CheckStreamed({convert::Form::kFloat32, what, 3, 3, 2, height, 1, false, false}, kernels_.narrow[what], width,
                      [&](JointCall* call) { call->last_lanes = width; });
      }
    }
  }
}

TEST_P(JointPlanesTest, PairsWriteTheSamePastTheCaches) {
  if (kernels_.pairs[kJointData][2][true] == nullptr) GTEST_SKIP() << "they need AVX2, or masks";
  for (const JointResults what : {kJointBoth, kJointData}) {
    for (const int width : {16, 32, 48}) {
      const int floats = 2 * lanes_, vectors = (width + floats - 1) / floats;
      for (const convert::Form form : {convert::Form::kFloat32, convert::Form::kHfloat32x11}) {
        const JointFn kernel = JointPlanes(form).pairs[what][2][true];
        if (kernel == nullptr) continue;  // data alone is not rounded, and 16 registers do not hold both
        CheckStreamed({form, what, 2, 3, 2, 5, vectors, false, false}, kernel, 64,
                      [&](JointCall* call) { call->last_lanes = width % floats; });
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, JointPlanesTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
