// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: several strips of a plane, pieces of a strip, blocks of output
// channels, segments, rows that are read in place, and the bias gradient in the same pass.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "conv/algorithm.h"
#include "conv/bf16_dot.h"
#include "exec/pool.h"
#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/joint_gradients.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

constexpr uint8_t kJoint = kBackwardWeights | kBiasFromOutput;

Geometry FewColumns(Draw* draw) {
  const int64_t outputs[] = {1, 3, 4, 33, 70}, inputs[] = {1, 2, 3};
  Geometry g;
  g.batch = (*draw)(1, 3);
  g.groups = (*draw)(0, 3) == 0 ? 2 : 1;
  g.input_channels = g.groups * inputs[(*draw)(0, 2)];
  g.output_channels = g.groups * outputs[(*draw)(g.groups == 1 ? 0 : 2, 4)];
  // Planes of whole vectors, and others; up to a few thousand pixels.
  const Extent3 sizes[] = {{1, 1, 1600}, {1, 1, 1333}, {1, 32, 48}, {1, 62, 97}, {2, 17, 19}, {1, 3, 3}};
  g.output_size = sizes[(*draw)(0, 5)];
  for (int axis = 0; axis < 3; ++axis) {
    g.kernel[axis] = g.output_size[axis] == 1 ? 1 : (*draw)(1, axis == 2 ? 5 : 3);
    g.stride[axis] = (*draw)(1, axis == 2 ? 5 : 2);
    g.dilation[axis] = (*draw)(1, 2);
    g.pad_begin[axis] = (*draw)(0, g.kernel[axis] - 1);
    const int64_t reach = (g.output_size[axis] - 1) * g.stride[axis] + (g.kernel[axis] - 1) * g.dilation[axis] + 1;
    g.input_size[axis] = std::max<int64_t>(1, reach - g.pad_begin[axis] - (*draw)(0, 2));
  }
  return g;
}

Case FewColumnsCase(uint32_t seed) {
  Draw draw(seed);
  const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  const Geometry g = FewColumns(&draw);
  return PlainCase(g, 1, types[seed % 4], &draw);
}

class ColumnDotsTest : public testing::TestWithParam<int64_t> {};

TEST_P(ColumnDotsTest, GivesExactSumsOfWholeNumbersWhicheverJobComesFirst) {
  const kernels::ScopedTarget scoped(GetParam());
  int served = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const ScopedBf16Dot dot(seed / 4 % 2 == 0);
    Case c = FewColumnsCase(seed);
    std::optional<exec::ScopedBackwardJobs> backward;
    if (seed % 3 == 0) backward.emplace();
    const uint8_t own = RunAlgorithm(&c, "column_dots", kJoint);
    if (own == 0) continue;
    served += own == kJoint;
    const std::string trace = "seed " + std::to_string(seed);
    ExpectNear("backward weights", c.weight_result, Expected(c).weight, 0, trace);
    const std::vector<double> bias = BiasOf(c);
    ForEach(c.bias_result.dims, [&](const std::array<int64_t, 5>& at) {
      EXPECT_EQ(c.bias_result.Get(at), bias[at[1]]) << trace << ", channel " << at[1];
    });
    if (HasFailure()) return;
  }
  EXPECT_GT(served, 30);  // rows with gaps between their pixels are refused
}

TEST_P(ColumnDotsTest, KeepsPaddingAbsentWhenTheOtherSideIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const ScopedBf16Dot dot(seed / 4 % 2 == 0);
    Case c = FewColumnsCase(seed);
    MakeOneInfinite(&c, seed);
    if (!RunIfServed(&c, "column_dots", kJoint)) continue;
    ExpectSameClasses(c.weight_result, Expected(c).weight, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

TEST_P(ColumnDotsTest, SumsBiasesOfWhatItRoundsUnrounded) {
  const kernels::ScopedTarget scoped(GetParam());
  Draw draw(7);
  Geometry g;
  g.batch = 2;
  g.input_channels = 1;
  g.output_channels = 5;
  g.output_size = g.input_size = {1, 20, 40};
  g.kernel = {1, 3, 3};
  g.pad_begin = {0, 1, 1};
  Case c = PlainCase(g, 1, DType::kFloat32, &draw);
  // HFLOAT32 keeps 11 bits of them, BF16 seven: 1 + 2^-12 becomes 1.
  const float number = 1 + std::ldexp(1.0f, -12);
  ForEach(c.output.dims, [&](const std::array<int64_t, 5>& at) { c.output.Set(at, number); });
  for (const auto rounding : {numerics::InputRounding::kHfloat32x11, numerics::InputRounding::kBFloat16}) {
    const ScopedBf16Dot dot(true);
    c.problem.rule.input_rounding = rounding;
    ASSERT_EQ(RunAlgorithm(&c, "column_dots", kJoint), kJoint);
    ForEach(c.bias_result.dims,
            [&](const std::array<int64_t, 5>& at) { EXPECT_EQ(c.bias_result.Get(at), 1600 * number); });
    ExpectNear("backward weights", c.weight_result, Expected(c).weight, 0, "rounded");
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ColumnDotsTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

TEST(ColumnDotsAcceptTest, SaysWhatItCannotDo) {
  Draw draw(1);
  const Algorithm* algorithm = AlgorithmNamed("column_dots");
  ASSERT_NE(algorithm, nullptr);
  Geometry g;
  g.batch = 1;
  g.input_channels = 3;
  g.output_channels = 4;
  g.input_size = g.output_size = {1, 8, 8};
  const Case c = PlainCase(g, 1, DType::kFloat32, &draw);
  ConvProblem problem = c.problem;
  problem.output.strides = {256, 64, 64, 8, 1};
  EXPECT_EQ(algorithm->accepts(problem, kBackwardWeights), "");
  EXPECT_EQ(algorithm->accepts(problem, kBackwardData), "it computes weight and bias gradients only");
  problem.output.strides[3] = 9;
  EXPECT_EQ(algorithm->accepts(problem, kBackwardWeights), "");
  problem.output.strides[4] = 2;
  EXPECT_EQ(algorithm->accepts(problem, kBackwardWeights), "output pixels of a row do not lie side by side");
  problem.output.strides[4] = 1;
  problem.geometry.kernel = {1, 3, 3};
  problem.geometry.dilation = {1, 110, 110};
  EXPECT_EQ(algorithm->accepts(problem, kBackwardWeights),
            "the input under a few rows of output takes more than 512 KiB");
  problem.geometry.kernel = {1, 1, 1};
  problem.geometry.input_channels = 257;
  EXPECT_EQ(algorithm->accepts(problem, kBackwardWeights), "a group has no columns or more than 256");
  problem.geometry.input_channels = 2;
  problem.geometry.groups = 2;
  EXPECT_EQ(algorithm->accepts(problem, kBackwardWeights), "a group has fewer than 4 output channels");
  problem.geometry.groups = 1;
  problem.geometry.output_size[1] = 0;
  EXPECT_EQ(algorithm->accepts(problem, kBackwardWeights), "there is no output");
}

}  // namespace
}  // namespace canopy::conv
