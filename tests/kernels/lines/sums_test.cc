// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/lines/contract.h"
#include "tests/kernels/elements.h"

namespace canopy::kernels {
namespace {

class LineSumsTest : public testing::TestWithParam<int64_t> {};

TEST_P(LineSumsTest, SumAddsItsElementsAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (int64_t count : {0, 1, 5, 16, 49, 63, 64, 65, 127, 128, 300, 512}) {
    std::vector<float> line(static_cast<size_t>(count));  // ends with the last element
    float expected = 0;                                   // whole numbers: exact in any order
    for (int64_t i = 0; i < count; ++i) expected += line[i] = static_cast<float>((i * 37) % 101 - 50);
    EXPECT_EQ(Lines().sum(line.data(), count), expected) << count;
    const Elements bf16(convert::Form::kBFloat16, line);  // exact
    EXPECT_EQ(Lines().sum_bf16(reinterpret_cast<const uint16_t*>(bf16.data()), count), expected) << count;
  }
}

TEST_P(LineSumsTest, SumRowsAddsTheElementsOfEachRowAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (int64_t rows : {1, 3, 4, 8, 13, 16, 17, 35}) {
    for (int64_t count : {1, 4, 9, 15, 16, 17, 49, 64, 100}) {
      for (int64_t planes : {1, 3}) {
        const int64_t row_step = count + 2, plane_step = rows * row_step + 5;
        // Ends with the last element. Whole numbers: exact in any order.
        std::vector<float> from(static_cast<size_t>((planes - 1) * plane_step + (rows - 1) * row_step + count));
        for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>((i * 37) % 101) - 50.0f;
        std::vector<float> expected(static_cast<size_t>(rows)), sums(static_cast<size_t>(rows), 9.0f);
        for (int64_t i = 0; i < planes * rows * count; ++i) {
          const int64_t p = i / count / rows, r = i / count % rows;
          expected[r] += from[p * plane_step + r * row_step + i % count];
        }
        Lines().sum_rows(from.data(), row_step, rows, count, plane_step, planes, sums.data());
        EXPECT_EQ(sums, expected) << rows << " " << count << " " << planes;
      }
    }
  }
}

TEST_P(LineSumsTest, SumColumnsAddsUpEachColumnAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (const convert::Form form : kReadForms) {
    for (int64_t rows : {0, 1, 2, 33}) {
      for (int64_t count : {1, 7, 8, 16, 17, 64, 100, 144, 256}) {
        const int64_t step = count + 3;
        const Elements from(form,
                            Numbers(std::max<int64_t>(0, rows - 1) * step + count));  // ends with the last element
        std::vector<float> expected(static_cast<size_t>(count + 1)), sums(expected.size(), -1.0f);
        expected[count] = -1.0f;
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t i = 0; i < count; ++i) expected[i] += from.Read(r * step + i);
        }
        Lines().sum_columns[static_cast<int>(form)](from.data(), step, rows, count, sums.data());
        EXPECT_EQ(sums, expected) << rows << " " << count;
      }
    }
  }
}

TEST_P(LineSumsTest, WeighRowsAddsUpWeighedRowsAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (int64_t rows : {0, 1, 3, 4, 5, 48}) {
    for (int64_t count : {1, 7, 16, 17, 64, 100, 1152}) {
      const int64_t step = count + 3, factor_step = 2;
      // Both end with the last element. Small integers: every sum is exact.
      std::vector<float> from(static_cast<size_t>(std::max<int64_t>(0, (rows - 1) * step + count)));
      std::vector<float> factors(static_cast<size_t>(std::max<int64_t>(0, (rows - 1) * factor_step + 1)));
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i % 23) - 11.0f;
      for (size_t i = 0; i < factors.size(); ++i) factors[i] = static_cast<float>(i % 7) - 3.0f;
      std::vector<float> expected(static_cast<size_t>(count + 1)), sums(expected.size(), -1.0f);
      expected[static_cast<size_t>(count)] = -1.0f;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < count; ++i) expected[i] += factors[r * factor_step] * from[r * step + i];
      }
      Lines().weigh_rows(from.data(), step, rows, factors.data(), factor_step, count, sums.data());
      EXPECT_EQ(sums, expected) << rows << " " << count;
    }
  }
}

TEST_P(LineSumsTest, AddRowsAddsItsRowsAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (int64_t count : {1, 3, 4, 7, 8, 14, 16, 17, 32, 45}) {
    const int64_t rows = 5, step = count + 2, width = count + 3;
    std::vector<float> from(static_cast<size_t>((rows - 1) * step + count));  // ends with the last element
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i + 1);
    const std::vector<int64_t> offsets = {3 * width, 0, 0, width, 2 * width + 3};  // two rows add to one
    std::vector<float> to(static_cast<size_t>(4 * width), 0.5f), expected = to;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < count; ++i) expected[offsets[r] + i] += from[r * step + i];
    }
    Lines().add_rows(from.data(), step, rows, count, to.data(), offsets.data());
    EXPECT_EQ(to, expected) << count;
  }
}

TEST_P(LineSumsTest, AddShiftedAddsEachTapWhereItBelongsAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (int64_t count : {1, 3, 4, 8, 14, 16, 17, 32, 45, 112}) {
    for (const auto& [taps, shift] : {std::pair<int64_t, int64_t>{1, 1},
                                      {2, 1},
                                      {3, 1},
                                      {4, 1},
                                      {5, 1},
                                      {11, 1},
                                      {3, 2},
                                      {3, 7},
                                      {2, 16},
                                      {3, 40}}) {
      for (int64_t into_vector : {0, 5}) {
        const int64_t rows = 3, width = count + (taps - 1) * shift;
        const ShiftedRows shape{rows, taps * (count + 1) + 2, taps, count + 1, shift, count};
        // Ends with the last element.
        std::vector<float> from(static_cast<size_t>((rows - 1) * shape.row_step + (taps - 1) * shape.tap_step + count));
        for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i + 1);
        const int64_t pitch = (width + 5 + 15) / 16 * 16;
        const std::vector<int64_t> offsets = {pitch + into_vector, 0, pitch + into_vector};  // two rows add to one
        std::vector<float> to(static_cast<size_t>(2 * pitch), 0.5f), expected = to;
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t t = 0; t < taps; ++t) {
            const float* row = &from[static_cast<size_t>(r * shape.row_step + t * shape.tap_step)];
            for (int64_t i = 0; i < count; ++i) expected[offsets[r] + t * shift + i] += row[i];
          }
        }
        Lines().add_shifted(from.data(), shape, to.data(), offsets.data());
        EXPECT_EQ(to, expected) << count << " elements, " << taps << " taps " << shift << " apart, " << into_vector;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, LineSumsTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
