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

class JointDoubledTest : public JointPlanesFixture {
 protected:
  // Positions of one axis of an input under a doubled kernel, whose even columns meet two of its own or whose odd ones
  // do.
  struct DoubledAxis {
    bool even;
    int64_t input, outputs;

    int64_t positions() const { return (input + 1) / 2; }
    // The output that a column meets under one of the kernel's, or -1.
    int64_t Met(int64_t column, int64_t kernel) const {
      const int64_t twice = column + (even ? 0 : 1) - kernel;
      return twice % 2 == 0 && twice >= 0 && twice < 2 * outputs ? twice / 2 : -1;
    }
    std::string Text() const {
      return std::to_string(input) + (even ? " even" : " odd") + " and " + std::to_string(outputs) + " outputs";
    }
  };

  // The positions from `first` to `end` of planes of so many rows and columns.
  void CheckDoubled(convert::Form form, JointResults what, const DoubledAxis& rows, const DoubledAxis& columns,
                    int64_t first, int64_t end, bool adds) const {
    const int64_t vectors = (columns.positions() + lanes_ - 1) / lanes_, row = 5 * lanes_;
    const Shape shape{form, what, 3, 3, 2, end - first, vectors, false, false};
    SCOPED_TRACE(shape.Text() + ", adds " + std::to_string(adds) + ", rows " + rows.Text() + ", columns " +
                 columns.Text() + ", from " + std::to_string(first));
    const bool rounds = RoundingOf(form) != numerics::InputRounding::kNone;
    const Elements unrounded(rounds ? convert::Form::kFloat32 : form, g_), gradient(form, g_), x(form, x_);
    Elements result(form, std::vector<float>(kResults, -5));
    std::vector<float> sums = OnesOf(shape), bias(2, 1);
    JointCall call = CallOf(shape, x, &result, sums.data());
    PlaceGradient(gradient, &call);
    call.x.row = call.result.row = row * x.size();
    call.last_lanes = static_cast<int>(columns.input - (vectors - 1) * 2 * lanes_);
    call.g_right = columns.outputs;
    call.even_rows = rows.even;
    call.even_columns = columns.even;
    call.g_top = -first;
    call.g_bottom = rows.outputs - first;
    call.x_rows = rows.input - 2 * first;
    call.bias = bias.data();
    call.adds = adds;
    JointPlanes(form).doubled[what](call);
    std::vector<double> expected(kResults, -5), expected_sums(sums.size(), 1), expected_bias(2, 1);
    for (int64_t n = 0; n < call.planes; ++n) {
      for (int64_t y = 0; y < std::min(2 * call.rows, call.x_rows); ++y) {
        for (int64_t w = 0; w < columns.input; ++w) {
          double sum = adds ? -5 : 0;
          for (int t = 0; t < 9; ++t) {
            const int64_t p = rows.Met(2 * first + y, t / 3), q = columns.Met(w, t % 3);
            if (p < 0 || q < 0) continue;
            const double g = gradient.Read(kFirstG + n * kGPlane + (p - first) * g_row() + q);
            sum += call.taps[n * call.taps_plane + t / 3 * call.taps_row + t % 3 * call.taps_column] * g;
            expected_sums[n * call.sums_plane + t * lanes_ + w % lanes_] +=
                x.Read(kFirstX + n * kXPlane + y * row + w) * g;
          }
          if (what != kJointWeights) expected[kFirstResult + n * kResultPlane + y * row + w] = sum;
        }
      }
      for (int64_t p = 0; p < std::min(call.rows, call.g_bottom); ++p) {
        for (int64_t q = 0; q < columns.outputs; ++q) {
          expected_bias[n] += unrounded.Read(kFirstG + n * kGPlane + p * g_row() + q);
        }
      }
    }
    if (what == kJointData) std::fill(expected_sums.begin(), expected_sums.end(), 1);
    ExpectResults(form, result, expected);
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected_sums[i], 1e-4) << "at " << i;
    for (size_t n = 0; n < 2; ++n) ASSERT_NEAR(bias[n], expected_bias[n], 1e-3) << "of plane " << n;
  }
};

// Rows and columns of which even ones meet two, or odd ones; as many outputs as positions, or one less.
TEST_P(JointDoubledTest, GiveWhatTheFormulaSaysAndTouchNothingElse) {
  if (kernels_.doubled[kJointBoth] == nullptr) GTEST_SKIP() << "they need masks and 32 registers";
  const auto axis = [](int kind, int64_t input) {
    const int64_t positions = (input + 1) / 2;
    return DoubledAxis{kind > 0, input, kind < 2 ? positions : positions - 1};
  };
  for (int i = 0; i < 9 * 3; ++i) {
    const JointResults what = static_cast<JointResults>(i % 3);
    const int row_kind = i / 3 % 3, column_kind = i / 9;
    for (const convert::Form form : kReadForms) {
      for (const int64_t width : {3, 4, lanes_ + 1, 2 * lanes_, 2 * lanes_ + 1, 4 * lanes_, 4 * lanes_ + 3}) {
        const DoubledAxis columns = axis(column_kind, width);
        for (const int64_t height : {3, 4, 13, 14}) {
          const DoubledAxis rows = axis(row_kind, height);
          const int64_t positions = rows.positions();
          CheckDoubled(form, what, rows, columns, 0, positions, false);
          if (positions > 4) {
            CheckDoubled(form, what, rows, columns, 0, 4, false);
            CheckDoubled(form, what, rows, columns, 4, positions, false);
          }
          if (TypeOf(form) == numerics::DType::kFloat32 && what != kJointWeights) {
            CheckDoubled(form, what, rows, columns, 0, positions, true);
          }
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, JointDoubledTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
