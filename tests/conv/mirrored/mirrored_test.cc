// SPDX-License-Identifier: Apache-2.0
// Kernels of few output channels over one to three axes, dilated and not, with padding before and behind up to what the
// kernel reaches over, pixels left over, and weights in any order and with gaps; and what is refused.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "conv/algorithm.h"
#include "conv/mirrored/mirror.h"
#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

using Order = std::array<int, 5>;

constexpr Order kPlanes = {0, 1, 2, 3, 4}, kInputsLast = {0, 2, 3, 4, 1}, kOutputsLast = {4, 3, 1, 2, 0};

Geometry DrawFewOutputs(Draw* draw) {
  const int64_t inputs[] = {2, 3, 14, 17, 33, 70};
  Geometry g;
  g.batch = (*draw)(1, 3);
  g.input_channels = inputs[(*draw)(0, 5)];
  g.output_channels = (*draw)(1, std::min<int64_t>(5, g.input_channels - 1));
  const int64_t axes = (*draw)(1, 3);
  for (int64_t axis = 3 - axes; axis < 3; ++axis) {
    g.kernel[axis] = (*draw)(axis == 2 ? 2 : 1, axis == 0 ? 2 : 5);
    g.dilation[axis] = (*draw)(1, 2);
    const int64_t reach = (g.kernel[axis] - 1) * g.dilation[axis], outputs = (*draw)(1, axis == 2 ? 40 : 6);
    g.pad_begin[axis] = (*draw)(0, reach);
    // Behind, from the whole reach to a pixel that no output meets.
    g.output_size[axis] = outputs;
    g.input_size[axis] = std::max<int64_t>(1, outputs + reach - g.pad_begin[axis] - (*draw)(-1, reach));
  }
  for (int64_t axis = 0; axis < 3 - axes; ++axis) g.input_size[axis] = g.output_size[axis] = 1;
  return g;
}

Case FewOutputsCase(const Geometry& g, uint32_t seed, DType type, const Order& weights, Draw* draw) {
  Case c = PlainCase(g, seed, type, draw, kPlanes);
  LayWeights(weights, type, draw, &c);
  return c;
}

Case RandomFewOutputsCase(uint32_t seed, DType type) {
  Draw draw(seed);
  const Order orders[] = {kPlanes, kInputsLast, kOutputsLast};
  const Geometry g = DrawFewOutputs(&draw);
  return FewOutputsCase(g, seed, type, orders[seed % 3], &draw);
}

class MirroredTest : public testing::TestWithParam<int64_t> {};

TEST_P(MirroredTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  constexpr uint32_t kCount = 120;
  std::array<int, 3> served{};
  for (uint32_t seed = 0; seed < kCount; ++seed) {
    const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
    Case c = RandomFewOutputsCase(seed, types[seed / 3 % 4]);
    ExpectExactSums(&c, "mirrored", "seed " + std::to_string(seed), &served);
    if (HasFailure()) return;
  }
  // Rows with gaps between them are not planes, and some kernels have too many columns.
  EXPECT_EQ(served[0], 0);
  EXPECT_GT(served[1], static_cast<int>(kCount) / 2);
  EXPECT_GT(served[2], static_cast<int>(kCount) / 2);
}

TEST_P(MirroredTest, KeepsNumbersThatAreNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 36; ++seed) {
    Case c = RandomFewOutputsCase(seed, DType::kFloat32);
    MakeOneInfinite(&c, seed);
    ExpectPaddingAbsent(&c, "mirrored", "seed " + std::to_string(seed));
  }
}

TEST_P(MirroredTest, SaturatesWhereTheRunDemandsIt) {
  const kernels::ScopedTarget scoped(GetParam());
  Draw draw(1);
  Geometry g;
  g.batch = 2;
  g.input_channels = 20;
  g.output_channels = 3;
  g.kernel = {1, 3, 3};
  g.pad_begin = {0, 1, 1};
  g.input_size = g.output_size = {1, 8, 24};
  for (const Computation computation : {kBackwardData, kBackwardWeights}) {
    Case c = FewOutputsCase(g, 1, DType::kFloat32, kPlanes, &draw);
    ForEach(c.output.dims, [&](const auto& at) { c.output.Set(at, std::numeric_limits<float>::max()); });
    ForEach(c.input.dims, [&](const auto& at) { c.input.Set(at, 2); });
    ForEach(c.weight.dims, [&](const auto& at) { c.weight.Set(at, 2); });
    EXPECT_NE(RunAlgorithm(&c, "mirrored", computation, /*saturate=*/true), 0);
    const Tensor& result = computation == kBackwardData ? c.input_result : c.weight_result;
    ForEach(result.dims, [&](const auto& at) { EXPECT_TRUE(std::isfinite(result.Get(at))); });
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, MirroredTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

std::string_view RefusalOf(const Geometry& g, Computation computation) {
  Draw draw(0);
  const ConvProblem problem = FewOutputsCase(g, 0, DType::kFloat32, kPlanes, &draw).problem;
  const Algorithm* algorithm = AlgorithmNamed("mirrored");
  return algorithm == nullptr ? "there is no such algorithm" : algorithm->accepts(problem, computation);
}

class MirroredAcceptsTest : public testing::Test {
 protected:
  MirroredAcceptsTest() {
    g_.batch = 2;
    g_.input_channels = 12;
    g_.output_channels = 4;
    g_.kernel = {1, 3, 3};
    g_.pad_begin = {0, 2, 1};
    g_.input_size = {1, 5, 16};
    g_.output_size = {1, 6, 16};
  }

  Geometry g_;
};

TEST_F(MirroredAcceptsTest, GradientsOfFewOutputs) {
  EXPECT_EQ(RefusalOf(g_, kBackwardWeights), "");
  EXPECT_EQ(RefusalOf(g_, kForward), "it computes one gradient of products");
  EXPECT_EQ(RefusalOf(g_, kBiasFromOutput), "it computes one gradient of products");
}

TEST_F(MirroredAcceptsTest, NoGroups) {
  g_.groups = 2;
  EXPECT_EQ(RefusalOf(g_, kBackwardWeights), "there are groups");
}

TEST_F(MirroredAcceptsTest, NoManyOutputs) {
  g_.output_channels = g_.input_channels;
  EXPECT_EQ(RefusalOf(g_, kBackwardWeights), "there are not fewer output channels than input channels");
}

TEST_F(MirroredAcceptsTest, NoStrideAndNoPaddingBeyondTheKernel) {
  const char refusal[] = "there is a stride, or more padding than the kernel reaches over";
  Geometry strided = g_;
  strided.stride = {1, 1, 2};
  EXPECT_EQ(RefusalOf(strided, kBackwardWeights), refusal);
  g_.pad_begin = {0, 3, 1};
  EXPECT_EQ(RefusalOf(g_, kBackwardWeights), refusal);
}

TEST_F(MirroredAcceptsTest, NoInputGradientOfOneOffset) {
  g_.kernel = {1, 1, 1};
  g_.pad_begin = {};
  g_.input_size = g_.output_size;
  EXPECT_EQ(RefusalOf(g_, kBackwardData), "an input has one product of each output channel");
  EXPECT_EQ(RefusalOf(g_, kBackwardWeights), "");
}

TEST(MirrorTest, OfTheMirrorIsTheProblem) {
  Draw draw(3);
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Geometry g = DrawFewOutputs(&draw);
    ConvProblem problem = FewOutputsCase(g, seed, DType::kFloat32, kInputsLast, &draw).problem;
    ASSERT_TRUE(mirrored::HasMirror(g));
    const ConvProblem mirror = mirrored::MirrorOf(problem), again = mirrored::MirrorOf(mirror);
    EXPECT_EQ(again.geometry, problem.geometry);
    EXPECT_EQ(again.weight, problem.weight);
    EXPECT_EQ(again.weight_result, problem.weight_result);
    EXPECT_EQ(again.input, problem.input);
    EXPECT_EQ(again.output, problem.output);
  }
}

}  // namespace
}  // namespace canopy::conv
