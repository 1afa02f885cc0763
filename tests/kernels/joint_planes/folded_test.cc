// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/joint_planes/contract.h"
#include "tests/kernels/elements.h"
#include "tests/kernels/joint_planes/fixture.h"

namespace canopy::kernels {
namespace {

class JointFoldedTest : public JointPlanesFixture {
 protected:
  // Of planes of rows that lie `pitch` elements apart.
  void CheckFolded(convert::Form form, JointResults what, int size, int64_t rows, int64_t columns, int64_t pitch,
                   bool adds) const {
    const Shape shape{form, what, size, size, 3, rows, 1, true, false};
    SCOPED_TRACE(shape.Text() + ", " + std::to_string(columns) + " columns " + std::to_string(pitch) + " apart, adds " +
                 std::to_string(adds));
    const bool rounds = RoundingOf(form) != numerics::InputRounding::kNone;
    const Elements unrounded(rounds ? convert::Form::kFloat32 : form, g_), gradient(form, g_), x(form, x_);
    Elements result(form, std::vector<float>(kResults, -5));
    std::vector<float> sums = OnesOf(shape), bias(3, 1);
    JointCall call = CallOf(shape, x, &result, sums.data());
    PlaceGradient(gradient, &call);
    call.g.row = call.x.row = call.result.row = pitch * x.size();
    call.last_lanes = static_cast<int>(columns);
    const int64_t taps = size * size;
    SetTapsInOrder(size, size, &call);
    call.bias = bias.data();
    call.adds = adds;
    JointPlanes(form).folded[what][size](call);
    std::vector<double> expected(kResults, -5), expected_sums(sums.size(), 1), expected_bias(3, 1);
    for (int64_t n = 0; n < call.planes; ++n) {
      for (int64_t y = 0; y < rows; ++y) {
        for (int64_t w = 0; w < columns; ++w) {
          double sum = adds ? -5 : 0;
          const int64_t lane = y % 2 * lanes_ / 2 + w;
          for (int64_t t = 0; t < taps; ++t) {
            const int64_t p = y + size / 2 - t / size, q = w + size / 2 - t % size;
            if (p < 0 || p >= rows || q < 0 || q >= columns) continue;
            const double g = gradient.Read(kFirstG + n * kGPlane + p * pitch + q);
            sum += call.taps[n * call.taps_plane + t] * g;
            expected_sums[(n * taps + t) * lanes_ + lane] += x.Read(kFirstX + n * kXPlane + y * pitch + w) * g;
          }
          if (what != kJointWeights) expected[kFirstResult + n * kResultPlane + y * pitch + w] = sum;
          expected_bias[n] += unrounded.Read(kFirstG + n * kGPlane + y * pitch + w);
        }
      }
    }
    if (what == kJointData) std::fill(expected_sums.begin(), expected_sums.end(), 1);
    ExpectResults(form, result, expected);
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected_sums[i], 1e-4) << "at " << i;
    for (size_t n = 0; n < 3; ++n) ASSERT_NEAR(bias[n], expected_bias[n], 1e-3) << "of plane " << n;
  }
};

TEST_P(JointFoldedTest, GiveWhatTheFormulaSaysAndTouchNothingElse) {
  if (kernels_.folded[kJointBoth][3] == nullptr) GTEST_SKIP() << "they need moving lanes";
  for (const int size : {3, 5, 7}) {
    for (const JointResults what : {kJointBoth, kJointData, kJointWeights}) {
      for (const convert::Form form : kReadForms) {
        for (const int64_t rows : {kMostFoldedRows - 1, kMostFoldedRows}) {
          for (int64_t columns = 1; columns <= kMostFoldedColumns; ++columns) {
            CheckFolded(form, what, size, rows, columns, columns, false);  // rows follow one another
            CheckFolded(form, what, size, rows, columns, 21, false);
            if (TypeOf(form) == numerics::DType::kFloat32 && what != kJointWeights) {
              CheckFolded(form, what, size, rows, columns, columns, true);
            }
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, JointFoldedTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
