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
  // One axis of an input under a doubled kernel, with so much padding before the first number.
  struct DoubledAxis {
    int64_t pad, input, outputs;

    int64_t positions() const { return (input + 1) / 2; }
    bool even() const { return pad % 2 == 0; }
    // Position 0 meets the output of that number first.
    int64_t first() const { return (pad + 1) / 2; }
    // The output that a column meets under one of the kernel's, or -1.
    int64_t Met(int64_t column, int64_t kernel) const {
      const int64_t twice = column + pad - kernel;
      return twice % 2 == 0 && twice >= 0 && twice < 2 * outputs ? twice / 2 : -1;
    }
    std::string Text() const {
      return std::to_string(input) + " after " + std::to_string(pad) + " and " + std::to_string(outputs) + " outputs";
    }
  };

  // The positions from `first` to `end` of planes of so many rows and columns.
  void CheckDoubled(convert::Form form, JointResults what, int size, const DoubledAxis& rows,
                    const DoubledAxis& columns, int64_t first, int64_t end, bool adds) const {
    const int64_t vectors = (columns.positions() + lanes_ - 1) / lanes_, row = 5 * lanes_;
    const Shape shape{form, what, size, size, rows.input > 14 ? 1 : 2, end - first, vectors, false, false};
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
    call.g.first += rows.first() * call.g.row + columns.first() * gradient.size();
    call.g_left = -columns.first();
    call.g_right = columns.outputs - columns.first();
    call.even_rows = rows.even();
    call.even_columns = columns.even();
    call.g_top = -first - rows.first();
    call.g_bottom = rows.outputs - first - rows.first();
    call.g_counted = first == 0 ? -rows.first() : 0;
    call.x_rows = rows.input - 2 * first;
    call.bias = bias.data();
    call.adds = adds;
    JointPlanes(form).doubled[what][size](call);
    std::vector<double> expected(kResults, -5), expected_sums(sums.size(), 1), expected_bias(2, 1);
    for (int64_t n = 0; n < call.planes; ++n) {
      for (int64_t y = 0; y < std::min(2 * call.rows, call.x_rows); ++y) {
        for (int64_t w = 0; w < columns.input; ++w) {
          double sum = adds ? -5 : 0;
          for (int t = 0; t < size * size; ++t) {
            const int64_t p = rows.Met(2 * first + y, t / size), q = columns.Met(w, t % size);
            if (p < 0 || q < 0) continue;
            const double g = gradient.Read(kFirstG + n * kGPlane + (p - first) * g_row() + q);
            sum += call.taps[n * call.taps_plane + t / size * call.taps_row + t % size * call.taps_column] * g;
            expected_sums[n * call.sums_plane + t * lanes_ + w % lanes_] +=
                x.Read(kFirstX + n * kXPlane + y * row + w) * g;
          }
          if (what != kJointWeights) expected[kFirstResult + n * kResultPlane + y * row + w] = sum;
        }
      }
      const int64_t counted = first == 0 ? 0 : first + rows.first();
      for (int64_t p = counted - first; p < std::min(call.rows + rows.first(), rows.outputs - first); ++p) {
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

// As many outputs as positions, or one less.
TEST_P(JointDoubledTest, GiveWhatTheFormulaSaysAndTouchNothingElse) {
  if (kernels_.doubled[kJointBoth][3] == nullptr) GTEST_SKIP() << "they need masks and 32 registers";
  int turn = 0;
  for (const int size : {3, 5}) {
    for (int i = 0; i < size * size; ++i) {
      for (const int64_t width : {3, 4, lanes_ + 1, 2 * lanes_, 2 * lanes_ + 1, 4 * lanes_, 4 * lanes_ + 3}) {
        for (const int64_t height : {3, 4, 13, 14, 43}) {
          const DoubledAxis rows{i / size, height, (height + 1) / 2 - ++turn % 2},
              columns{i % size, width, (width + 1) / 2 - turn / 2 % 2};
          const JointResults what = static_cast<JointResults>(turn % 3);
          const int64_t positions = rows.positions();
          if (kernels_.doubled[what][size] == nullptr) continue;  // both at once have too many sums
          for (const convert::Form form : kReadForms) {
            CheckDoubled(form, what, size, rows, columns, 0, positions, false);
            if (positions > 4) {
              CheckDoubled(form, what, size, rows, columns, 0, 4, false);
              CheckDoubled(form, what, size, rows, columns, 4, positions, false);
            }
            if (TypeOf(form) == numerics::DType::kFloat32 && what != kJointWeights) {
              CheckDoubled(form, what, size, rows, columns, 0, positions, true);
            }
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, JointDoubledTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
