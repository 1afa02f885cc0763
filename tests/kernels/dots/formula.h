// SPDX-License-Identifier: Apache-2.0
// What kernels of dot products must give, in double precision.
#ifndef CANOPY_TESTS_KERNELS_DOTS_FORMULA_H_
#define CANOPY_TESTS_KERNELS_DOTS_FORMULA_H_

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/dots/contract.h"
#include "numerics/rounding.h"
#include "tests/kernels/random_floats.h"

namespace canopy::kernels {

template <class T>
inline constexpr numerics::DType kTypeOf =
    std::is_same_v<T, float> ? numerics::DType::kFloat32 : numerics::DType::kBFloat16;

template <class T>
double NumberOf(T element) {
  return numerics::LoadElement(&element, kTypeOf<T>);
}

template <class T>
std::vector<T> RandomElements(size_t count, uint32_t seed) {
  std::vector<T> elements(count);
  const std::vector<float> numbers = RandomFloats(count, seed);
  for (size_t i = 0; i < count; ++i) numerics::StoreElement(&elements[i], kTypeOf<T>, numbers[i], false);
  return elements;
}

// Each row's sums, and behind them its own if the kernel gives that, lie in a row that is longer by a vector.
template <class T>
void ExpectFormula(DotsFnOf<T> kernel, const DotsKernelsOf<T>& kernels, int rows, int columns, bool summing) {
  const int64_t lanes = kernels.lanes;
  constexpr int64_t kTogether = sizeof(float) / sizeof(T);  // elements of a lane
  const int64_t width = kTogether * lanes, a_row = 5 * width + 3;
  const std::vector<T> a = RandomElements<T>(4000, 1), b = RandomElements<T>(1000, 2);
  const int64_t offsets[] = {3, 0, 40, 41, 7, 7, 90, 1};
  const int64_t results = columns + (summing ? 1 : 0), sums_row = (results + 1) * lanes;
  std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}};  // vectors and rests
  if (kernels.masks) sizes.insert(sizes.end(), {{0, 1}, {1, width - 1}, {2, 3}, {4, width / 2}});
  for (const auto& [vectors, rest] : sizes) {
    const int64_t lines = vectors < 4 ? vectors + 1 : 1, a_line = 20 * width + 1, b_line = 7;
    SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(columns) + ", " + std::to_string(vectors) + " vectors, " +
                 std::to_string(rest));
    std::vector<float> sums(static_cast<size_t>(rows * sums_row), 1);
    const bool first = vectors % 2 == 0;
    DotsCallOf<T> call{a.data() + 1, a_row, b.data() + 2, offsets, vectors, sums.data(), sums_row, first};
    call.row_sums = sums.data() + columns * lanes;
    call.row_sums_row = sums_row;
    call.lines = lines;
    call.a_line = a_line;
    call.b_line = b_line;
    call.rest = rest;
    kernel(call);
    for (int64_t i = 0; i < rows * sums_row; ++i) {
      const int64_t r = i / sums_row, c = i % sums_row / lanes, l = i % lanes;
      double sum = first && c < results ? 0 : 1;
      for (int64_t line = 0; line < lines && c < results; ++line) {
        for (int64_t at = l * kTogether; at < vectors * width + rest; ++at) {
          const double factor = c < columns ? NumberOf(call.b[offsets[c] + line * b_line + at]) : 1;
          sum += NumberOf(call.a[r * a_row + line * a_line + at]) * factor;
          if (at % kTogether == kTogether - 1) at += width - kTogether;  // the lane's next vector
        }
      }
      ASSERT_NEAR(sums[i], sum, 1e-5) << "row " << r << " column " << c << " lane " << l;
    }
  }
}

template <class T>
void ExpectFormulaOfAll(const DotsKernelsOf<T>& kernels) {
  for (int rows = 1; rows <= kMostDotsRows; ++rows) {
    for (int columns = 1; columns <= kernels.most_columns[rows]; ++columns) {
      ExpectFormula<T>(kernels.dots[rows][columns], kernels, rows, columns, false);
    }
  }
}

template <class T>
void ExpectFormulaOfSumming(const DotsKernelsOf<T>& kernels) {
  EXPECT_GT(kernels.most_summing_columns[kernels.most_rows()], 0);
  for (int rows = 1; rows <= kMostDotsRows; ++rows) {
    for (int columns = 1; columns <= kernels.most_summing_columns[rows]; ++columns) {
      ExpectFormula<T>(kernels.summing[rows][columns], kernels, rows, columns, true);
    }
  }
}

}  // namespace canopy::kernels

#endif  // CANOPY_TESTS_KERNELS_DOTS_FORMULA_H_
