// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/checked_math.h"
#include "kernels/dispatch.h"
#include "kernels/joint_planes/contract.h"
#include "tests/kernels/elements.h"
#include "tests/kernels/joint_planes/fixture.h"

namespace canopy::kernels {
namespace {

// Rows or columns of g that exist.
struct Exist {
  int64_t begin, end;

  bool Has(int64_t at) const { return at >= begin && at < end; }
  std::string Text() const { return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")"; }
};

class JointRollingTest : public JointPlanesFixture {
 protected:
  // Of what lies around what exists of g nothing is 0 here.
  void Check(const Shape& shape, int64_t width, const Exist& rows, const Exist& columns, int64_t counted,
             bool adds) const {
    const int64_t height = shape.height;
    const convert::Form form = shape.form;
    const JointResults what = shape.what;
    SCOPED_TRACE(shape.Text() + ", width " + std::to_string(width) + ", rows " + rows.Text() + ", columns " +
                 columns.Text() + ", counted from " + std::to_string(counted) + ", adds " + std::to_string(adds));
    const bool rounds = RoundingOf(form) != numerics::InputRounding::kNone;
    const Elements unrounded(rounds ? convert::Form::kFloat32 : form, g_), gradient(form, g_), x(form, x_);
    Elements result(form, std::vector<float>(kResults, -5));
    std::vector<float> sums = OnesOf(shape), bias(2, 1),
                       room(static_cast<size_t>((JointRoom(height, shape.rows) + 1) * lanes_));
    JointCall call = CallOf(shape, x, &result, sums.data());
    SetTapsInOrder(shape.rows, shape.columns, &call);
    PlaceGradient(gradient, &call);
    call.last_lanes = static_cast<int>(width % lanes_);
    call.g_top = rows.begin;
    call.g_bottom = rows.end;
    call.g_left = columns.begin;
    call.g_right = columns.end;
    call.g_counted = counted;
    call.room = room.data() + (-reinterpret_cast<uintptr_t>(room.data()) / sizeof(float)) % static_cast<size_t>(lanes_);
    call.bias = bias.data();
    call.adds = adds;
    JointPlanes(form).rolling[what][shape.rows](call);
    std::vector<double> expected(kResults, -5), expected_sums(sums.size(), 1), expected_bias(2, 1);
    for (int64_t i = 0; i < call.planes * height * width; ++i) {
      const int64_t n = i / width / height, y = i / width % height, w = i % width;
      double sum = adds ? -5 : 0;
      for (int64_t t = 0; t < shape.rows * shape.columns; ++t) {
        const int64_t r = t / shape.columns, s = t % shape.columns;
        if (!rows.Has(y - r) || !columns.Has(w - s)) continue;
        const double g = gradient.Read(kFirstG + n * kGPlane + (y - r) * g_row() + w - s);
        sum += call.taps[n * call.taps_plane + r * call.taps_row + s * call.taps_column] * g;
        if (what != kJointData) {
          expected_sums[n * call.sums_plane + t * lanes_ + w % lanes_] +=
              x.Read(kFirstX + n * kXPlane + y * x_row() + w) * g;
        }
      }
      if (what != kJointWeights) expected[kFirstResult + n * kResultPlane + y * result_row() + w] = sum;
    }
    const bool sums_bias = what == kJointData || JointPlanes(form).rolling[kJointBoth][shape.rows] != nullptr;
    for (int64_t n = 0; n < call.planes && sums_bias; ++n) {
      for (int64_t p = std::max(rows.begin, counted); p < std::min(rows.end, height); ++p) {
        for (int64_t q = columns.begin; q < columns.end; ++q) {
          expected_bias[n] += unrounded.Read(kFirstG + n * kGPlane + p * g_row() + q);
        }
      }
    }
    ExpectResults(form, result, expected);
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected_sums[i], 1e-4) << "at " << i;
    for (size_t n = 0; n < 2; ++n) ASSERT_NEAR(bias[n], expected_bias[n], 1e-3) << "of plane " << n;
  }
};

TEST_P(JointRollingTest, GiveWhatTheFormulaSaysAndTouchNothingElse) {
  if (kernels_.rolling[kJointData][5] == nullptr) GTEST_SKIP() << "they need lanes that move, and 32 registers";
  int served = 0;
  for (int i = 0; i < 3 * (kMostJointRows + 1); ++i) {
    const auto what = static_cast<JointResults>(i % 3);
    const int size = i / 3;
    const int64_t around = size - 1;
    for (const convert::Form form : kReadForms) {
      if (JointPlanes(form).rolling[what][size] == nullptr) continue;
      ++served;
      for (const int64_t width : {1, 4, lanes_ - 1, lanes_, lanes_ + 1, 2 * lanes_, 3 * lanes_}) {
        for (const int64_t height : {1, 3, 5, 11}) {
          const Shape shape{form, what, size, size, 2, height, base::CeilDiv(width, lanes_), false, false};
          for (const Exist& exist : {Exist{-2, height - 2}, Exist{-around, height}, Exist{-1, height - 1}}) {
            Check(shape, width, exist, {-2, width - 2}, -around, false);
            Check(shape, width, exist, {-around, width}, 0, false);
            Check(shape, width, exist, {0, std::max<int64_t>(1, width - around)}, 2, false);
            if (what != kJointWeights && TypeOf(form) == numerics::DType::kFloat32) {
              Check(shape, width, exist, {-2, width - 2}, -around, true);
            }
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_EQ(served, 7 * static_cast<int>(std::size(kReadForms)));  // 5x5 and 7x7, one gradient each, and all of 3x3
}

// Whole lines together, and rows that are none.
TEST_P(JointRollingTest, WriteTheSamePastTheCaches) {
  if (kernels_.rolling[kJointData][3] == nullptr) GTEST_SKIP() << "they need lanes that move, and 32 registers";
  for (const convert::Form form : {convert::Form::kFloat32, convert::Form::kHfloat32x11}) {
    for (const JointResults what : {kJointBoth, kJointData}) {
      for (const int size : {3, 5, 7}) {
        const JointFn kernel = JointPlanes(form).rolling[what][size];
        if (kernel == nullptr) continue;
        for (const int64_t width : {lanes_, lanes_ + 4, 2 * lanes_, 3 * lanes_ - 4}) {
          const Shape shape{form, what, size, size, 2, 8, base::CeilDiv(width, lanes_), false, false};
          CheckStreamed(shape, kernel, width, [&](JointCall* call) {
            SetTapsInOrder(size, size, call);
            call->last_lanes = static_cast<int>(width % lanes_);
            call->g_top = call->g_left = -size / 2;
            call->g_bottom = 8 - size / 2;
            call->g_right = width - size / 2;
          });
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, JointRollingTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
