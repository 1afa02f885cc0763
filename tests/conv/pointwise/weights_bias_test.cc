// SPDX-License-Identifier: Apache-2.0
// Bias gradients beside weight gradients of kernels that meet pixels of their own: of outputs as rows and as lanes, of
// transposed problems' inputs with and without taps, within and beyond a piece, a panel and a block.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "exec/pool.h"
#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/joint_gradients.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

// Every other one as a transposed problem's, whose kernel covers the input.
Geometry DrawGeometry(uint32_t seed, Draw* draw) {
  Geometry g;
  const bool many = (*draw)(0, 7) == 0;  // rows of several blocks
  const int64_t largest = !many && (*draw)(0, 3) == 0 ? 24 : 7;
  g.batch = (*draw)(1, 4);
  g.groups = !many && (*draw)(0, 3) == 0 ? (*draw)(2, 3) : 1;
  const auto channels = [&] { return many ? (*draw)(1, 8) : (*draw)(1, (*draw)(0, 3) == 0 ? 150 : 20); };
  g.input_channels = g.groups * channels();
  g.output_channels = g.groups * channels();
  if (many) ((*draw)(0, 1) == 0 ? g.input_channels : g.output_channels) = (*draw)(520, 600);
  g.pad_begin = {0, 0, 0};
  for (int axis = 0; axis < 3; ++axis) {
    g.output_size[axis] = axis == 0 ? (*draw)(1, 2) : (*draw)(1, largest);
    g.kernel[axis] = g.stride[axis] = (*draw)(0, 1) == 0 ? 1 : (*draw)(1, 3);
    g.dilation[axis] = 1;
    g.input_size[axis] = g.output_size[axis] * g.stride[axis];
    if (seed % 2 == 0 && (*draw)(0, 2) == 0) g.kernel[axis] = (*draw)(1, g.stride[axis]);
    if (seed % 2 == 0 && (*draw)(0, 4) == 0) g.input_size[axis] += g.stride[axis] - 1;
  }
  return g;
}

// Inputs may have gaps between their rows; weights have none, and `channels` sums are wanted.
Case DrawCase(const Geometry& g, uint32_t seed, int64_t channels, Draw* draw) {
  Case c = PlainCase(g, seed, DType::kFloat32, draw);
  c.weight_result = MakeTensor(c.weight_result.dims, DType::kFloat32, {0, 1, 2, 3, 4}, 0);
  c.bias_result = MakeTensor({1, channels, 1, 1, 1}, DType::kFloat32, {0, 1, 2, 3, 4}, 0);
  c.SetOperands();
  return c;
}

class WeightsBiasTest : public testing::TestWithParam<int64_t> {};

TEST_P(WeightsBiasTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  int served[2] = {0, 0};
  for (uint32_t seed = 0; seed < 140; ++seed) {
    Draw draw(seed);
    const Geometry g = DrawGeometry(seed, &draw);
    const bool transposed = seed % 2 == 1;
    const int64_t channels = transposed ? g.input_channels : g.output_channels;
    Case c = DrawCase(g, seed, channels, &draw);
    std::optional<exec::ScopedBackwardJobs> backward;
    if (seed % 4 >= 2) backward.emplace();
    const auto both = static_cast<uint8_t>(kBackwardWeights | (transposed ? kBiasFromInput : kBiasFromOutput));
    const uint8_t own = RunAlgorithm(&c, "pointwise", both);
    if (own == 0) continue;
    served[transposed] += own == both ? 1 : 0;
    const std::string trace = "seed " + std::to_string(seed);
    ExpectNear("backward weights", c.weight_result, Expected(c).weight, 0, trace);
    ExpectNear("bias gradient", c.bias_result, SumsOfChannels(transposed ? c.input : c.output), 0, trace);
    if (HasFailure()) return;
  }
  EXPECT_GT(served[0], 30);
  EXPECT_GT(served[1], 30);
}

// Sums of what kernel offsets do not meet, or of rounded numbers, are left to others.
TEST(WeightsBiasTest, RefusesWhatProductsDoNotMeet) {
  Geometry g;
  g.batch = 1;
  g.input_channels = g.output_channels = 4;
  g.output_size = {1, 3, 3};
  g.kernel = g.stride = {1, 2, 2};
  int served = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Draw draw(seed);
    // Pixels behind the last kernel offset's, or between those of two.
    g.kernel[1] = seed % 2 == 0 ? 2 : 1;
    g.input_size = {1, seed % 2 == 0 ? 7 : 6, 6};
    Case c = DrawCase(g, seed, 4, &draw);
    if (RunAlgorithm(&c, "pointwise", kBackwardWeights) == 0) continue;
    served |= 1 << seed % 2;
    EXPECT_EQ(RunAlgorithm(&c, "pointwise", kBackwardWeights | kBiasFromInput), kBackwardWeights);
    EXPECT_EQ(RunAlgorithm(&c, "pointwise", kBackwardWeights | kBiasFromOutput), kBackwardWeights | kBiasFromOutput);
    c.problem.rule.input_rounding = numerics::InputRounding::kHfloat32x11;
    EXPECT_EQ(RunAlgorithm(&c, "pointwise", kBackwardWeights | kBiasFromOutput), kBackwardWeights);
  }
  EXPECT_EQ(served, 3);
}

INSTANTIATE_TEST_SUITE_P(All, WeightsBiasTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
