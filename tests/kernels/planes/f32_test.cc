// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/planes/contract.h"
#include "tests/kernels/elements.h"
#include "tests/kernels/random_floats.h"

namespace canopy::kernels {
namespace {

class PlanesTest : public testing::TestWithParam<int64_t> {
 protected:
  PlanesTest() : scoped_(GetParam()), kernels_(Planes()) {}

  const ScopedTarget scoped_;
  const PlaneKernels& kernels_;
};

using convert::Form;

constexpr int64_t kMovedRow = 60;  // of a tensor

// Around a vector and around two.
constexpr int64_t kCounts[] = {1, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 56};

TEST_P(PlanesTest, PlaceCopiesRowsWithZerosBehindAndReadsNothingElse) {
  for (const Form form : kReadForms) {
    for (const int64_t count : kCounts) {  // no more elements than are read, so that a sanitizer sees more
      const Elements from(form, RandomFloats(static_cast<size_t>(2 * kMovedRow + count), 1));
      std::vector<float> to(400, -5);
      kernels_.place[static_cast<int>(form)]({from.data(), kMovedRow, to.data() + 3, 100, 3, count});
      const int64_t end = (count + kernels_.lanes - 1) / kernels_.lanes * kernels_.lanes;
      for (int64_t r = 0; r < 3; ++r) {
        for (int64_t i = 0; i < 90; ++i) {
          const float expected = i < count ? from.Read(r * kMovedRow + i) : i < end ? 0 : -5;
          ASSERT_EQ(to[3 + r * 100 + i], expected) << count << " " << r << " " << i;
        }
      }
    }
  }
}

TEST_P(PlanesTest, TakeWritesNothingElse) {
  const std::vector<float> from = RandomFloats(400, 2);
  for (const Form form : kWrittenForms) {
    const Elements rounded(form, from);
    for (const int64_t count : kCounts) {
      Elements to(form, std::vector<float>(static_cast<size_t>(2 * kMovedRow + count), -5));
      kernels_.take[static_cast<int>(form)]({from.data() + 1, 100, to.data(), kMovedRow, 3, count});
      for (int64_t i = 0; i < 2 * kMovedRow + count; ++i) {
        const int64_t column = i % kMovedRow;
        ASSERT_EQ(to[i], column < count ? rounded[1 + i / kMovedRow * 100 + column] : -5) << count << " " << i;
      }
    }
  }
}

TEST_P(PlanesTest, SplitPartsEvenFromOddElements) {
  for (const Form form : kReadForms) {
    for (const int64_t count : kCounts) {
      const Elements from(form, RandomFloats(static_cast<size_t>(2 * kMovedRow + count), 3));
      std::vector<float> even(400, -5), odd(400, -5);
      kernels_.split[static_cast<int>(form)]({from.data(), kMovedRow, even.data(), 100, 3, count}, odd.data());
      for (int64_t i = 0; i < 3 * count; ++i) {
        const std::vector<float>& to = i % count % 2 == 0 ? even : odd;
        ASSERT_EQ(to[i / count * 100 + i % count / 2], from.Read(i / count * kMovedRow + i % count))
            << count << " " << i;
      }
    }
  }
}

TEST_P(PlanesTest, MeshTakesTurnsAndWritesNothingElse) {
  const std::vector<float> even = RandomFloats(400, 10), odd = RandomFloats(400, 11);
  for (const Form form : kWrittenForms) {
    const Elements rounded_even(form, even), rounded_odd(form, odd);
    for (const int64_t count : kCounts) {
      Elements to(form, std::vector<float>(static_cast<size_t>(2 * kMovedRow + count), -5));
      kernels_.mesh[static_cast<int>(form)]({even.data() + 1, 100, to.data(), kMovedRow, 3, count}, odd.data() + 1);
      for (int64_t i = 0; i < 2 * kMovedRow + count; ++i) {
        const int64_t column = i % kMovedRow;
        const float expected = (column % 2 == 0 ? rounded_even : rounded_odd)[1 + i / kMovedRow * 100 + column / 2];
        ASSERT_EQ(to[i], column < count ? expected : -5) << count << " " << i;
      }
    }
  }
}

TEST_P(PlanesTest, ReduceAddsLanes) {
  const std::vector<float> vectors = RandomFloats(static_cast<size_t>(5 * kernels_.lanes), 4);
  std::vector<float> sums(6, -5);
  kernels_.reduce(vectors.data(), 5, sums.data());
  for (int i = 0; i < 5; ++i) {
    double sum = 0;
    for (int l = 0; l < kernels_.lanes; ++l) sum += vectors[i * kernels_.lanes + l];
    EXPECT_NEAR(sums[i], sum, 1e-5);
  }
  EXPECT_EQ(sums[5], -5);
}

TEST_P(PlanesTest, SumsFollowTheFormula) {
  const int64_t lanes = kernels_.lanes, x_row = 3 * lanes + 9, g_row = 3 * lanes + 2;
  const std::vector<float> x = RandomFloats(4000, 5), g = RandomFloats(4000, 6);
  for (int rows = 1; rows <= kMostSumsRows; ++rows) {
    for (int columns = 1; columns <= kernels_.most_columns[rows]; ++columns) {
      for (const int64_t steps : {1, 2, 5}) {
        SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(columns) + ", " + std::to_string(steps) + " rows");
        std::vector<float> sums(static_cast<size_t>(rows * columns * lanes), 1);
        const PlaneSumsCall call{x.data() + 2, x_row, g.data() + 8 * g_row, g_row, steps, 2,
                                 sums.data(),  lanes, lanes * rows,         {}};
        kernels_.sums[rows][columns](call);
        for (int64_t i = 0; i < rows * columns * lanes; ++i) {
          const int64_t s = i / lanes / rows, r = i / lanes % rows, l = i % lanes;
          double sum = 1;
          for (int64_t y = 0; y < steps; ++y) {
            for (int64_t v = 0; v < 2; ++v) {
              sum += double{call.x[y * x_row + v * lanes + s + l]} * call.g[(y - r) * g_row + v * lanes + l];
            }
          }
          ASSERT_NEAR(sums[i], sum, 1e-5) << "row " << r << " column " << s << " lane " << l;
        }
      }
    }
  }
}

TEST_P(PlanesTest, StencilsFollowTheFormulaAndTouchNothingElse) {
  const int64_t lanes = kernels_.lanes, source_row = 10 * lanes + 5, result_row = 10 * lanes + 1;
  const std::vector<float> source = RandomFloats(6000, 7), taps = RandomFloats(200, 8), before = RandomFloats(4000, 9);
  for (int rows = 1; rows <= kMostPlaneRows; ++rows) {
    if (kernels_.at_once[rows] == 0) continue;
    for (int count = 1; count <= kMostPlaneTaps; ++count) {
      for (const int64_t vectors : {1, 2, 3, 9}) {
        for (const int last : {-1, 0, 1}) {  // accumulated, whole, or a tail
          SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(count) + " taps, " + std::to_string(vectors) +
                       " vectors, last " + std::to_string(last));
          std::vector<float> result = before;
          PlaneStencilCall call{};
          call.source = source.data() + 1;
          call.source_row = source_row;
          call.taps = taps.data() + 50;
          call.tap_row = -3;
          call.tap_column = 2;
          call.columns = 3;
          call.result = result.data() + 5;
          call.result_row = result_row;
          call.blocks = 2;
          call.vectors = vectors;
          call.last_lanes = last > 0 ? static_cast<int>((lanes + 1) / 2) : 0;
          call.accumulate = last < 0;
          call.ahead_lines = 2;
          kernels_.stencils[rows][count](call);
          const int64_t width = (vectors - 1) * lanes + (call.last_lanes > 0 ? call.last_lanes : lanes);
          for (size_t i = 0; i < result.size(); ++i) {
            const int64_t at = static_cast<int64_t>(i) - 5, a = at / result_row, w = at % result_row;
            double expected = before[i];
            if (at >= 0 && a < 2 * rows && w < width) {
              if (!call.accumulate) expected = 0;
              for (int64_t j = 0; j < 3; ++j) {
                for (int64_t t = 0; t < count; ++t) {
                  expected += double{call.taps[t * -3 + j * 2]} * call.source[(a + t) * source_row + w + j];
                }
              }
            }
            ASSERT_NEAR(result[i], expected, 1e-5) << at;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PlanesTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
