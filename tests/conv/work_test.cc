// SPDX-License-Identifier: Apache-2.0
#include "conv/work.h"

#include <gtest/gtest.h>

#include <random>

namespace canopy::conv {
namespace {

// One sum's multiply-adds, counted one by one along each axis.
double Counted(const Geometry& g) {
  double pairs = static_cast<double>(g.batch * g.groups * g.group_input_channels() * g.group_output_channels());
  for (int axis = 0; axis < 3; ++axis) {
    int64_t on_axis = 0;
    for (int64_t o = 0; o < g.output_size[axis]; ++o) {
      for (int64_t k = 0; k < g.kernel[axis]; ++k) {
        const int64_t at = o * g.stride[axis] + k * g.dilation[axis] - g.pad_begin[axis];
        on_axis += at >= 0 && at < g.input_size[axis];
      }
    }
    pairs *= static_cast<double>(on_axis);
  }
  return pairs;
}

TEST(WorkTest, KernelOffsetsInThePaddingAreNoWork) {
  std::mt19937 random(5);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    ConvProblem problem;
    problem.computations = kForward;
    Geometry& g = problem.geometry;
    g.batch = draw(0, 3);
    g.groups = draw(1, 3);
    g.input_channels = g.groups * draw(1, 3);
    g.output_channels = g.groups * draw(1, 3);
    for (int axis = 0; axis < 3; ++axis) {
      g.input_size[axis] = draw(1, 9);
      g.output_size[axis] = draw(0, 9);
      g.kernel[axis] = draw(1, 5);
      g.stride[axis] = draw(1, 4);
      g.dilation[axis] = draw(1, 4);
      g.pad_begin[axis] = draw(0, 12);  // beyond the kernel's reach, too
    }
    ASSERT_EQ(UsefulMultiplyAdds(problem), Counted(g)) << "round " << round;
  }
}

TEST(WorkTest, EachWantedSumCountsAndBiasesDoNot) {
  ConvProblem problem;
  problem.geometry = {.batch = 2, .groups = 2, .input_channels = 6, .output_channels = 4, .input_size = {1, 1, 5}};
  problem.geometry.output_size = {1, 1, 3};
  problem.geometry.kernel = {1, 1, 3};
  const double one = 2 * 4 * 3 * 9;
  EXPECT_EQ(UsefulMultiplyAdds(problem), 0);
  problem.computations = kBiasFromOutput | kBiasFromInput;
  EXPECT_EQ(UsefulMultiplyAdds(problem), 0);
  for (const uint8_t computation : {kForward, kBackwardData, kBackwardWeights}) {
    problem.computations = computation;
    EXPECT_EQ(UsefulMultiplyAdds(problem), one) << int{computation};
  }
  problem.computations = kBackwardData | kBackwardWeights | kBiasFromOutput;
  EXPECT_EQ(UsefulMultiplyAdds(problem), 2 * one);
}

}  // namespace
}  // namespace canopy::conv
