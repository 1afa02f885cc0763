// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/depth.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conv/random_case.h"

namespace canopy::conv::sheets {
namespace {

TEST(DepthTest, SlicesAreThePairsOfTheDefinition) {
  int64_t gaps = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Draw draw(seed);
    Geometry g;
    g.kernel[0] = draw(1, 5);
    g.stride[0] = draw(1, 6);
    g.pad_begin[0] = draw(0, 6);
    g.input_size[0] = draw(1, 9);
    g.output_size[0] = draw(1, 9);
    const Slices slices(g);
    const auto input_of = [&](int64_t output, int64_t k) { return output * g.stride[0] + k - g.pad_begin[0]; };
    int64_t total = 0, fewest = g.kernel[0], most = 0;
    for (int64_t input = 0; input < g.input_size[0]; ++input) {
      int64_t count = 0;
      for (int64_t output = 0; output < g.output_size[0]; ++output) {
        const int64_t k = input - input_of(output, 0);
        if (k < 0 || k >= g.kernel[0]) continue;
        // A slice for every pair, found under whichever index.
        int64_t found = 0;
        for (int64_t i = 0; i < slices.Of(input).count; ++i) {
          const Slice slice = slices.Of(input).At(i);
          if (slice.output != output || slice.kernel != k) continue;
          ++found;
          EXPECT_EQ(slice.first, k == 0 || input == 0) << "seed " << seed;
        }
        EXPECT_EQ(found, 1) << "seed " << seed << ", input " << input << ", output " << output;
        ++count;
      }
      EXPECT_EQ(slices.Of(input).count, count) << "seed " << seed << ", input " << input;
      total += count;
      fewest = std::min(fewest, count);
      most = std::max(most, count);
    }
    EXPECT_EQ(slices.total(), total);
    EXPECT_EQ(slices.fewest(), fewest);
    EXPECT_EQ(slices.most(), most);
    gaps += fewest == 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(gaps, 100);
}

ConvProblem Problem(const Extent3& size, const Extent3& kernel) {
  ConvProblem problem;
  problem.geometry.input_size = problem.geometry.output_size = size;
  problem.geometry.kernel = kernel;
  for (int a = 0; a < 3; ++a) problem.geometry.pad_begin[a] = kernel[a] / 2;
  problem.input.strides =
      problem.output.strides = {1000000, size[0] * size[1] * size[2], size[1] * size[2], size[2], 1};
  problem.weight.strides = {kernel[0] * kernel[1] * kernel[2], 1, kernel[1] * kernel[2], kernel[2], 1};
  return problem;
}

TEST(DepthTest, BecomesAHeightWhereThereIsNone) {
  const ConvProblem turned = DepthAsHeight(Problem({8, 6, 100}, {5, 1, 3}));
  EXPECT_EQ(turned.geometry.input_size, (Extent3{6, 8, 100}));
  EXPECT_EQ(turned.geometry.kernel, (Extent3{1, 5, 3}));
  EXPECT_EQ(turned.geometry.pad_begin, (Extent3{0, 2, 1}));
  EXPECT_EQ(turned.input.strides, (std::array<int64_t, 5>{1000000, 4800, 100, 600, 1}));
  EXPECT_EQ(turned.weight.strides, (std::array<int64_t, 5>{15, 1, 3, 3, 1}));
  EXPECT_FALSE(HasDepth(turned.geometry));

  const ConvProblem cube = Problem({8, 6, 100}, {3, 3, 3}), plane = Problem({8, 6, 100}, {1, 3, 1});
  EXPECT_EQ(DepthAsHeight(cube), cube);
  EXPECT_EQ(DepthAsHeight(plane), plane);
}

// Four rows of 250 of eight, for they follow one another.
TEST(DepthTest, JoinsRowsWhereTheKernelHasOneColumn) {
  const ConvProblem turned = DepthAsHeight(Problem({5, 8, 250}, {3, 1, 1}));
  EXPECT_EQ(turned.geometry.input_size, (Extent3{2, 5, 1000}));
  EXPECT_EQ(turned.geometry.output_size, (Extent3{2, 5, 1000}));
  EXPECT_EQ(turned.output.strides, (std::array<int64_t, 5>{1000000, 10000, 1000, 2000, 1}));

  ConvProblem apart = Problem({5, 8, 250}, {3, 1, 1});
  apart.input.strides[3] = 251;
  EXPECT_EQ(DepthAsHeight(apart).geometry.input_size, (Extent3{8, 5, 250}));
}

}  // namespace
}  // namespace canopy::conv::sheets
