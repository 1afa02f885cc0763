// SPDX-License-Identifier: Apache-2.0
// Both gradients from blocks of output: several pieces of a row, which share input positions, several strips of a
// piece, chunks of output channels and panels of columns, ends that fill no vector, images of a few pixels.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "conv/algorithm.h"
#include "exec/pool.h"
#include "kernels/dispatch.h"
#include "tests/conv/joint_gradients.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

constexpr uint8_t kBoth = kBackwardData | kBackwardWeights;

Geometry FewColumns(Draw* draw) {
  const int64_t outputs[] = {1, 3, 33, 70, 130}, inputs[] = {1, 1, 2, 3}, sizes[] = {1, 5, 31, 33, 200, 1333, 3300};
  Geometry g;
  g.batch = (*draw)(1, 3);
  g.input_channels = inputs[(*draw)(0, 3)];
  g.output_channels = outputs[(*draw)(0, 4)];
  g.output_size = {1, 1, sizes[(*draw)(0, 6)]};
  g.kernel = {1, 1, (*draw)(1, 10)};
  g.stride[2] = (*draw)(1, 6);
  g.dilation[2] = (*draw)(1, 3);
  const int64_t reach = (g.kernel[2] - 1) * g.dilation[2];
  g.pad_begin[2] = (*draw)(0, reach);
  const int64_t size = (g.output_size[2] - 1) * g.stride[2] + reach + 1 - g.pad_begin[2];
  // Up to positions that no tap reaches.
  g.input_size = {1, 1, std::max<int64_t>(1, size - (*draw)(0, reach) + (*draw)(0, g.stride[2] - 1))};
  return g;
}

Case FewColumnsCase(uint32_t seed) {
  Draw draw(seed);
  return PlainCase(FewColumns(&draw), 1, DType::kFloat32, &draw);
}

class JointColumnsTest : public testing::TestWithParam<int64_t> {};

TEST_P(JointColumnsTest, GivesExactSumsOfWholeNumbersWhicheverJobComesFirst) {
  const kernels::ScopedTarget scoped(GetParam());
  int served = 0;
  for (uint32_t seed = 0; seed < 80; ++seed) {
    Case c = FewColumnsCase(seed);
    std::optional<exec::ScopedBackwardJobs> backward;
    if (seed % 3 == 0) backward.emplace();
    const uint8_t wanted = seed % 5 == 0 ? kBoth : kAllGradients;
    const uint8_t computed = RunAlgorithm(&c, "joint_columns", wanted);
    served += computed == wanted;
    if (computed != wanted) continue;
    ExpectGradients(c, wanted, 0, 0, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(served, 40);  // rows with gaps between their pixels are refused
}

TEST_P(JointColumnsTest, KeepsPaddingAbsentWhenTheOtherSideIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 40; ++seed) {
    Case c = FewColumnsCase(seed);
    MakeOneInfinite(&c, seed);
    if (RunAlgorithm(&c, "joint_columns", kAllGradients) != kAllGradients) continue;
    ExpectGradientClasses(c, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, JointColumnsTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

TEST(JointColumnsAcceptTest, SaysWhatItCannotDo) {
  Draw draw(1);
  const Algorithm* algorithm = AlgorithmNamed("joint_columns");
  ASSERT_NE(algorithm, nullptr);
  const auto both = static_cast<Computation>(kBoth);
  Geometry g;
  g.batch = 1;
  g.input_channels = 3;
  g.output_channels = 4;
  g.kernel = {1, 1, 5};
  g.input_size = {1, 1, 64};
  g.output_size = {1, 1, 60};
  ConvProblem problem = PlainCase(g, 1, DType::kFloat32, &draw).problem;
  problem.output.strides = {240, 60, 60, 60, 1};
  problem.weight.strides = {15, 5, 5, 5, 1};
  EXPECT_EQ(algorithm->accepts(problem, both), "");
  EXPECT_EQ(algorithm->accepts(problem, kBackwardData), "it computes data and weight gradients together only");
  problem.weight.strides[1] = 6;
  EXPECT_EQ(algorithm->accepts(problem, both), "the weights of an output channel are not one run");
  problem.output.strides[4] = 2;
  EXPECT_EQ(algorithm->accepts(problem, both), "output pixels do not lie side by side");
  problem.output.dtype = DType::kBFloat16;
  EXPECT_EQ(algorithm->accepts(problem, both), "output is not read as it is");
  problem.geometry.dilation[2] = 65;
  EXPECT_EQ(algorithm->accepts(problem, both), "the taps or the pixels lie far apart");
  problem.geometry.input_channels = 7;
  EXPECT_EQ(algorithm->accepts(problem, both), "there are more than 32 columns");
  problem.geometry.output_size[2] = 0;
  EXPECT_EQ(algorithm->accepts(problem, both), "there is no output or no input");
  problem.geometry.groups = 3;
  EXPECT_EQ(algorithm->accepts(problem, both), "there are groups");
  problem.geometry.output_size[1] = 2;
  EXPECT_EQ(algorithm->accepts(problem, both), "images have several rows");
}

}  // namespace
}  // namespace canopy::conv
