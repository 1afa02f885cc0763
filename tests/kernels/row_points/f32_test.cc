// SPDX-License-Identifier: Apache-2.0
// Transforms along the height against correlations of columns in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/row_points/contract.h"
#include "tests/kernels/elements.h"
#include "tests/kernels/random_floats.h"

namespace canopy::kernels {
namespace {

using convert::Form;

constexpr float kUntouched = -77;
constexpr int64_t kCounts[] = {1, 7, 15, 16, 17, 33, 56};  // of a row
constexpr int64_t kRowStep = 60, kHeight = 9, kTiles = 3, kRowBefore = -2;
constexpr int64_t kSlack = kWinogradLanes;

class RowPointsTest : public testing::TestWithParam<int64_t> {};

// Rows of a plane, whose tiles of `tile_rows` rows begin before it and end behind it.
struct Plane {
  Plane(Form form, uint32_t seed) : elements(form, RandomFloats(static_cast<size_t>(kHeight * kRowStep), seed)) {}

  // 0 for rows that do not exist.
  double At(int64_t row, int64_t column) const {
    return row < 0 || row >= kHeight ? 0 : static_cast<double>(elements.Read(row * kRowStep + column));
  }

  Elements elements;
};

// Numbers of tiles at the points.
struct Points {
  explicit Points(int64_t pitch) : step(kTiles * pitch + kSlack + 48), numbers(kWinogradPoints * step, kUntouched) {}

  int64_t step;
  std::vector<float> numbers;
};

RowsToPoints CallFor(const Plane& plane, const std::vector<float>& zeros, int64_t tile_rows, int64_t count,
                     int64_t pitch, Points* points) {
  RowsToPoints call{};
  call.row = kRowBefore;
  call.height = kHeight;
  call.row_step = kRowStep;
  call.tiles = kTiles;
  call.tile_rows = tile_rows;
  call.count = count;
  call.pitch = pitch;
  call.step = points->step;
  call.plane = plane.elements.data();
  call.zeros = zeros.data();
  call.points = points->numbers.data();
  return call;
}

// Windows and kernels of `taps` rows, of planes of two forms, multiplied and transformed back.
void ExpectCorrelation(Form form, int64_t taps, int64_t count, int64_t pitch) {
  const RowPointsKernels& kernels = RowPoints();
  const int64_t results = kWinogradPoints + 1 - taps;
  const Plane window(form, 1), kernel(form, 2);
  const std::vector<float> zeros(kRowStep, 0);
  Points windows(pitch), factors(pitch);
  std::vector<float> sums(kWinogradLanes, 0);
  RowsToPoints call = CallFor(window, zeros, results, count, pitch, &windows);
  kernels.windows[static_cast<int>(form)](call);
  call = CallFor(kernel, zeros, results, count, pitch, &factors);
  call.sums = sums.data();
  kernels.summing_kernels[taps][static_cast<int>(form)](call);
  Points again(pitch);
  call = CallFor(kernel, zeros, results, count, pitch, &again);
  kernels.kernels[taps][static_cast<int>(form)](call);
  EXPECT_EQ(again.numbers, factors.numbers);
  double sum = 0, expected_sum = 0;
  for (const float lane : sums) sum += lane;
  for (int64_t t = 0; t < kTiles; ++t) {
    for (int64_t y = 0; y < taps; ++y) {
      for (int64_t i = 0; i < count; ++i) expected_sum += kernel.At(kRowBefore + t * results + y, i);
    }
  }
  EXPECT_NEAR(sum, expected_sum, 1e-4);  // of some hundred numbers below 1
  // A tile's zeros complete a vector, and nothing else is written.
  const int64_t lanes = kernels.lanes;
  const int64_t end = (kTiles - 1) * pitch + (count + lanes - 1) / lanes * lanes;
  for (int64_t i = 0; i < kWinogradPoints * windows.step; ++i) {
    const int64_t at = i % windows.step, in_tile = at - std::min(at / pitch, kTiles - 1) * pitch;
    const bool zero = at < end && in_tile >= count && in_tile < (count + lanes - 1) / lanes * lanes;
    if (at >= end || zero) {
      EXPECT_EQ(windows.numbers[i], zero ? 0 : kUntouched) << i;
    }
    windows.numbers[i] *= factors.numbers[i];
  }

  for (const Form written : kWrittenForms) {
    Elements to(written, std::vector<float>(kHeight * kRowStep, kUntouched));
    PointsToRows back{};
    static_cast<PointRows&>(back) = call;
    const int64_t term = 0;
    back.points = windows.numbers.data();
    back.terms = &term;
    back.term_count = 1;
    back.added = 0.5f;
    back.plane = to.data();
    EXPECT_TRUE(kernels.results[taps][static_cast<int>(written)](back));
    // Of a result, rounded to the form: half a step of its last bit.
    const double step = written == Form::kFloat32 ? 0 : written == Form::kFloat16 ? 0x1p-11 : 0x1p-8;
    for (int64_t row = 0; row < kHeight; ++row) {
      const int64_t tile = (row - kRowBefore) / results, y = (row - kRowBefore) % results;
      for (int64_t i = 0; i < kRowStep; ++i) {
        const float got = to[row * kRowStep + i];
        if (tile >= kTiles || i >= count) {
          EXPECT_EQ(got, kUntouched);
          continue;
        }
        double expected = 0.5;
        for (int64_t k = 0; k < taps; ++k) {
          const int64_t first = kRowBefore + tile * results;
          expected += window.At(first + y + k, i) * kernel.At(first + k, i);
        }
        // Sums of up to 5 products below 1, which transforms enlarge a hundredfold before they cancel.
        EXPECT_NEAR(got, expected, 2e-5 + step * std::abs(expected)) << row << ' ' << i;
      }
    }
  }
}

TEST_P(RowPointsTest, TransformCorrelationsOfColumns) {
  const ScopedTarget scoped(GetParam());
  for (const Form form : kReadForms) {
    for (int64_t taps = kLeastWinogradKernel; taps <= kMostWinogradKernel; ++taps) {
      for (const int64_t count : kCounts) {
        for (const int64_t pitch : {count + 1, (count + 16) / 16 * 16}) {
          ExpectCorrelation(form, taps, count, pitch);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Wherever it stands, also in rows that are not written.
TEST_P(RowPointsTest, TellWhatIsNotFinite) {
  const ScopedTarget scoped(GetParam());
  const int64_t count = 19, pitch = 20;
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (int64_t point = 0; point < kWinogradPoints; ++point) {
      for (int64_t i = 0; i < kTiles * pitch; ++i) {
        Points points(pitch);
        std::fill(points.numbers.begin(), points.numbers.end(), 1.0f);
        points.numbers[point * points.step + i] = bad;
        std::vector<float> to(kHeight * kRowStep);
        const int64_t term = 0;
        PointsToRows call{};
        call.terms = &term;
        call.term_count = 1;
        call.row = 4;
        call.height = kHeight;
        call.row_step = kRowStep;
        call.tiles = kTiles;
        call.tile_rows = 4;
        call.count = count;
        call.pitch = pitch;
        call.step = points.step;
        call.points = points.numbers.data();
        call.plane = to.data();
        EXPECT_EQ(RowPoints().results[3][static_cast<int>(Form::kFloat32)](call), i % pitch >= count)
            << point << ' ' << i;
      }
    }
  }
}

// Three lines, shifted.
TEST_P(RowPointsTest, AddTermsBeforeTheyTransform) {
  const ScopedTarget scoped(GetParam());
  const int64_t count = 37, step = 200, terms[] = {3, 66, 131};
  const std::vector<float> lines = RandomFloats(static_cast<size_t>(kWinogradPoints * step), 3);
  std::vector<float> sums(static_cast<size_t>(kWinogradPoints * step), 0), rows[2];
  for (int64_t p = 0; p < kWinogradPoints; ++p) {
    for (int64_t i = 0; i < count; ++i) {
      const float* line = lines.data() + p * step + i;
      sums[p * step + i] = line[terms[0]] + line[terms[1]] + line[terms[2]];
    }
  }
  const int64_t none = 0;
  for (int i = 0; i < 2; ++i) {
    rows[i].assign(kHeight * kRowStep, kUntouched);
    PointsToRows call{};
    call.height = kHeight;
    call.row_step = kRowStep;
    call.tiles = 1;
    call.tile_rows = 4;
    call.count = count;
    call.pitch = count;
    call.step = step;
    call.points = i == 0 ? lines.data() : sums.data();
    call.terms = i == 0 ? terms : &none;
    call.term_count = i == 0 ? 3 : 1;
    call.plane = rows[i].data();
    EXPECT_TRUE(RowPoints().results[3][static_cast<int>(Form::kFloat32)](call));
  }
  EXPECT_EQ(rows[0], rows[1]);
}

// Rows of products of windows made on the way, beside those of windows that are made first, in double.
TEST_P(RowPointsTest, MultiplyWindowsOnTheWay) {
  const ScopedTarget scoped(GetParam());
  const RowProductsKernels& kernels = AllRowProducts();
  constexpr int kSources = 5;
  ASSERT_GE(kernels.most_rows, 3);
  for (const Form form : {Form::kFloat32, Form::kHfloat32x11, Form::kFloat16, Form::kBFloat16}) {
    for (int rows = 1; rows <= kernels.most_rows; ++rows) {
      for (const int64_t count : {int64_t{5}, int64_t{16}, int64_t{37}}) {
        const int64_t pitch = count + 3, line = kTiles * pitch + kSlack, step = rows * line;
        std::vector<Plane> planes;
        for (uint32_t s = 0; s < kSources; ++s) planes.emplace_back(form, 10 + s);
        const int64_t weights_step = kSources * rows + 1;
        const std::vector<float> weights = RandomFloats(static_cast<size_t>(kWinogradPoints * weights_step), 4);
        std::vector<ProductSource> sources;
        for (int s = 0; s < kSources; ++s) {
          sources.push_back({planes[static_cast<size_t>(s)].elements.data(), weights.data() + s * rows});
        }
        std::vector<double> expected(static_cast<size_t>(kWinogradPoints * step), 0);
        const std::vector<float> zeros(kRowStep, 0);
        for (int s = 0; s < kSources; ++s) {
          Points points(pitch);
          RowPoints().windows[static_cast<int>(form)](
              CallFor(planes[static_cast<size_t>(s)], zeros, 4, count, pitch, &points));
          for (int64_t i = 0; i < kWinogradPoints * step; ++i) {
            const int64_t p = i / step, r = i % step / line, at = i % line;
            if (at >= kTiles * pitch || at % pitch >= count) continue;
            expected[i] += static_cast<double>(weights[p * weights_step + s * rows + r]) *
                           static_cast<double>(points.numbers[p * points.step + at]);
          }
        }
        std::vector<float> results(static_cast<size_t>(kWinogradPoints * step), 0);
        RowProducts call{};
        static_cast<PointRows&>(call) = [&] {
          Points points(pitch);
          return PointRows(CallFor(planes[0], zeros, 4, count, pitch, &points));
        }();
        call.step = step;
        call.sources = sources.data();
        call.source_count = 2;
        call.weights_step = weights_step;
        call.results = results.data();
        call.result_row = line;
        kernels.products[rows][static_cast<int>(form)](call);
        call.sources += 2;
        call.source_count = kSources - 2;
        call.accumulate = true;
        kernels.products[rows][static_cast<int>(form)](call);
        for (int64_t i = 0; i < kWinogradPoints * step; ++i) {
          // Five products of weights below 1 and numbers below 10.
          EXPECT_NEAR(results[i], expected[i], 2e-5) << i;
        }
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RowPointsTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
