// SPDX-License-Identifier: Apache-2.0
// Problems of every shape, type and layout that are small enough, each gradient alone and all in one step.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "conv/algorithm.h"
#include "conv/few_pairs/limits.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/joint_gradients.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Geometry DrawSmall(Draw* draw) {
  Geometry g;
  g.input_channels = (*draw)(1, 16);
  g.output_channels = (*draw)(0, 3) == 0 ? (*draw)(1, 32) : (*draw)(1, 8);
  g.batch = (*draw)(1, 3);
  for (int axis = 3 - static_cast<int>((*draw)(1, 3)); axis < 3; ++axis) {
    g.kernel[axis] = (*draw)(1, 3);
    g.stride[axis] = (*draw)(1, 3);
    g.dilation[axis] = (*draw)(1, 3);
    g.pad_begin[axis] = (*draw)(0, 3);
  }
  g.input_size = g.output_size = {1, 1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    if (g.kernel[axis] == 1 && g.stride[axis] == 1 && g.pad_begin[axis] == 0 && (*draw)(0, 1) == 0) continue;
    g.output_size[axis] = (*draw)(1, 5);
    // Some positions meet nothing but padding, some pixels no position.
    const int64_t reach = (g.output_size[axis] - 1) * g.stride[axis] + (g.kernel[axis] - 1) * g.dilation[axis] + 1;
    g.input_size[axis] = std::max<int64_t>(1, reach - g.pad_begin[axis] - (*draw)(0, 3) + (*draw)(0, 2));
  }
  return g;
}

Case SmallCase(uint32_t seed) {
  Draw draw(seed);
  Case c;
  Geometry& g = c.problem.geometry;
  do g = DrawSmall(&draw);
  while (!few_pairs::AreFew(g));
  const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  const DType type = types[draw(0, 3)];
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype) {
    const std::array<int, 5> orders[] = {{0, 1, 2, 3, 4}, {0, 2, 3, 4, 1}, {4, 3, 1, 0, 2}};
    Tensor tensor = MakeTensor(dims, dtype, orders[draw(0, 2)], draw(0, 1) * 3);
    FillRandom(&tensor, seed % 8 < 4, draw.engine());
    return tensor;
  };
  const auto [input, weight, output] = DimsOf(g);
  const bool converted = draw(0, 1) == 0;
  c.input = make(input, type);
  c.weight = make(weight, type);
  c.output = make(output, type);
  c.input_result = make(input, converted ? type : DType::kFloat32);
  c.weight_result = make(weight, DType::kFloat32);
  c.bias_result = make({1, g.output_channels, 1, 1, 1}, DType::kFloat32);
  if (draw(0, 3) == 0) c.problem.rule.input_rounding = numerics::InputRounding::kHfloat32x11;
  c.SetOperands();
  return c;
}

// Every second four of whole numbers, whose sums FP32 holds.
TEST(FewPairsTest, GradientsAreTheFormulas) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Case c = SmallCase(seed);
    const uint8_t wanted = kJointSets[seed % 4];
    // What HF32 rounds is not what a bias gradient sums: that gets a step of its own.
    const bool rounds = c.problem.rule.input_rounding != numerics::InputRounding::kNone;
    const uint8_t own = rounds ? wanted & ~kBiasFromOutput : wanted;
    ASSERT_EQ(RunAlgorithm(&c, "few_pairs", wanted), own) << "seed " << seed;
    // Else sums of at most 3000 terms; results of 16 bits are rounded once.
    const double tolerance = seed % 8 < 4 ? 0 : 1e-6;
    const double data_tolerance = c.input_result.operand.dtype == DType::kFloat32 ? tolerance : 4e-3;
    ExpectGradients(c, wanted, tolerance, data_tolerance, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

TEST(FewPairsTest, RefusesMoreInWords) {
  const Algorithm* algorithm = kAlgorithms;
  while (algorithm->name != std::string("few_pairs")) ++algorithm;
  const auto refusal = [&](const Geometry& g) {
    ConvProblem problem;
    problem.geometry = g;
    return std::string(algorithm->accepts(problem, kBackwardData));
  };
  Geometry g;
  g.batch = 1;
  g.input_channels = g.output_channels = 4;
  g.kernel = {1, 3, 3};
  g.input_size = {1, 9, 9};
  g.output_size = {1, 7, 8};  // 504 pairs
  EXPECT_EQ(refusal(g), "");
  g.output_size = {1, 7, 9};
  EXPECT_EQ(refusal(g), "there are more than 512 pixels or pairs of them");
  g.output_size = {1, 7, 8};
  g.input_channels = 17;
  EXPECT_EQ(refusal(g), "there are no or more than 16 channels");
  g.input_channels = 4;
  g.output_channels = 33;
  EXPECT_EQ(refusal(g), "there are no or more than 32 output channels");
  g.output_channels = 4;
  g.groups = 2;
  EXPECT_EQ(refusal(g), "there are groups");
}

}  // namespace
}  // namespace canopy::conv
