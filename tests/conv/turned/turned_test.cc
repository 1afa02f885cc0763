// SPDX-License-Identifier: Apache-2.0
// Kernels of 1 over tensors whose channels lie side by side, with weights in either order, pixels in any that all
// tensors share, and gaps between pixels; kernels over the whole input, with gaps between images and between output
// channels' weights; and what is refused.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "conv/algorithm.h"
#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

using Order = std::array<int, 5>;

constexpr Order kChannelsLast = {0, 2, 3, 4, 1}, kTimeBatchChannel = {2, 3, 4, 0, 1}, kColumnsFirst = {4, 0, 3, 2, 1};
constexpr Order kOutputsLast = {2, 3, 4, 1, 0}, kInputsLast = {2, 3, 4, 0, 1}, kPlanes = {0, 1, 2, 3, 4};

Geometry DrawPixels(Draw* draw) {
  const int64_t channels[] = {1, 3, 14, 16, 33, 70, 300};
  Geometry g;
  g.batch = (*draw)(1, 4);
  g.input_channels = channels[(*draw)(0, 6)];
  g.output_channels = channels[(*draw)(0, 6)];
  g.input_size = g.output_size = {(*draw)(1, 2), (*draw)(1, 5), (*draw)(1, 9)};
  return g;
}

Case ChannelsCase(const Geometry& g, uint32_t seed, DType type, const Order& pixels, const Order& weights, Draw* draw) {
  Case c = PlainCase(g, seed, type, draw, pixels);
  LayWeights(weights, type, draw, &c);
  return c;
}

Case RandomChannelsCase(uint32_t seed, DType type) {
  Draw draw(seed);
  const Order orders[] = {kChannelsLast, kTimeBatchChannel, kColumnsFirst};
  const Geometry g = DrawPixels(&draw);
  return ChannelsCase(g, seed, type, orders[seed % 3], draw(0, 1) == 0 ? kOutputsLast : kInputsLast, &draw);
}

// One with unused channels behind.
Tensor MakeSlice(std::array<int64_t, 5> dims, DType type, int64_t unused, Draw* draw) {
  dims[1] += unused;
  Tensor tensor = MakeTensor(dims, type, kPlanes, 0);
  tensor.dims[1] -= unused;
  FillRandom(&tensor, true, draw->engine());
  return tensor;
}

Case WholeInputCase(Geometry g, uint32_t seed, DType type) {
  Draw draw(seed);
  g.input_size = g.kernel = {draw(1, 2), draw(1, 4), draw(1, 6)};
  g.output_size = {1, 1, 1};
  g.stride = {draw(1, 2), draw(1, 3), draw(1, 8)};
  Case c = PlainCase(g, seed, type, &draw, kPlanes);
  for (Tensor* tensor : {&c.input, &c.weight, &c.input_result, &c.weight_result}) {
    *tensor = MakeSlice(tensor->dims, tensor->operand.dtype, draw(0, 2), &draw);
  }
  c.SetOperands();
  return c;
}

Case RandomWholeInputCase(uint32_t seed, DType type) {
  Draw draw(seed + 1);
  return WholeInputCase(DrawPixels(&draw), seed, type);
}

constexpr Case (*kRandomCases[])(uint32_t, DType) = {RandomChannelsCase, RandomWholeInputCase};

class TurnedTest : public testing::TestWithParam<int64_t> {};

TEST_P(TurnedTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  std::array<int, 3> served{};
  const int count = 36;
  for (const auto& random_case : kRandomCases) {
    for (uint32_t seed = 0; seed < count; ++seed) {
      const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
      Case c = random_case(seed, types[seed / 3 % 4]);
      ExpectExactSums(&c, "turned", "seed " + std::to_string(seed), &served);
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(served, (std::array<int, 3>{2 * count, 2 * count, 2 * count}));
}

TEST_P(TurnedTest, KeepsNumbersThatAreNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 24; ++seed) {
    Case c = kRandomCases[seed / 12](seed, DType::kFloat32);
    MakeOneInfinite(&c, seed);
    ExpectPaddingAbsent(&c, "turned", "seed " + std::to_string(seed));
  }
}

TEST_P(TurnedTest, SaturatesWhereTheRunDemandsIt) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 24; ++seed) {
    Case c = kRandomCases[seed / 12](seed, DType::kFloat32);
    ForEach(c.output.dims, [&](const auto& at) { c.output.Set(at, std::numeric_limits<float>::max()); });
    EXPECT_NE(RunAlgorithm(&c, "turned", kBackwardData, /*saturate=*/true), 0);
    EXPECT_NE(RunAlgorithm(&c, "turned", kBackwardWeights, /*saturate=*/true), 0);
    for (const Tensor* result : {&c.input_result, &c.weight_result}) {
      ForEach(result->dims, [&](const auto& at) { EXPECT_TRUE(std::isfinite(result->Get(at))) << "seed " << seed; });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, TurnedTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

std::string_view RefusalOf(const ConvProblem& problem, Computation computation) {
  const Algorithm* algorithm = AlgorithmNamed("turned");
  return algorithm == nullptr ? "there is no such algorithm" : algorithm->accepts(problem, computation);
}

constexpr char kNoLayout[] = "channels do not lie side by side, or pixels not at equal distances";

class TurnedAcceptsTest : public testing::Test {
 protected:
  TurnedAcceptsTest() {
    g_.batch = 2;
    g_.input_channels = 6;
    g_.output_channels = 4;
    g_.input_size = g_.output_size = {1, 3, 5};
  }

  ConvProblem With(const Order& pixels, const Order& weights) {
    Draw draw(0);
    return ChannelsCase(g_, 0, DType::kFloat32, pixels, weights, &draw).problem;
  }

  Geometry g_;
};

TEST_F(TurnedAcceptsTest, EveryComputationOfEitherLayoutOfWeights) {
  for (const Order& weights : {kOutputsLast, kInputsLast}) {
    for (const Computation computation : {kForward, kBackwardData, kBackwardWeights}) {
      EXPECT_EQ(RefusalOf(With(kChannelsLast, weights), computation), "");
    }
  }
}

TEST_F(TurnedAcceptsTest, NoChannelsThatLieApart) {
  EXPECT_EQ(RefusalOf(With(kPlanes, kPlanes), kBackwardData), kNoLayout);
}

TEST_F(TurnedAcceptsTest, NoPixelsInTwoOrders) {
  ConvProblem problem = With(kChannelsLast, kInputsLast);
  problem.output = With(kTimeBatchChannel, kInputsLast).output;
  EXPECT_EQ(RefusalOf(problem, kBackwardData), kNoLayout);
}

TEST_F(TurnedAcceptsTest, NoPixelsWithGapsBetweenRows) {
  ConvProblem problem = With(kChannelsLast, kInputsLast);
  problem.output.strides[3] += problem.output.strides[4];
  EXPECT_EQ(RefusalOf(problem, kBackwardData), kNoLayout);
}

TEST_F(TurnedAcceptsTest, EveryComputationOfKernelsOverTheWholeInput) {
  for (const Computation computation : {kForward, kBackwardData, kBackwardWeights}) {
    EXPECT_EQ(RefusalOf(WholeInputCase(g_, 0, DType::kFloat32).problem, computation), "");
  }
}

TEST_F(TurnedAcceptsTest, NoKernelsOverTheWholeInputInTwoOrders) {
  g_.kernel = g_.input_size;
  g_.output_size = {1, 1, 1};
  EXPECT_EQ(RefusalOf(With(kChannelsLast, kPlanes), kBackwardData), kNoLayout);
}

TEST_F(TurnedAcceptsTest, NoOtherKernels) {
  const char refusal[] = "the kernel is neither one offset over the same pixels nor as large as the input";
  ConvProblem whole = WholeInputCase(g_, 0, DType::kFloat32).problem;
  whole.geometry.pad_begin = {0, 0, 1};
  EXPECT_EQ(RefusalOf(whole, kBackwardData), refusal);
  whole.geometry.pad_begin = {};
  whole.geometry.output_size = {1, 1, 2};
  EXPECT_EQ(RefusalOf(whole, kBackwardData), refusal);
  ConvProblem problem = With(kChannelsLast, kInputsLast);
  problem.geometry.kernel = {1, 1, 2};
  EXPECT_EQ(RefusalOf(problem, kBackwardData), refusal);
  problem.geometry.kernel = {1, 1, 1};
  problem.geometry.pad_begin = {0, 1, 0};
  EXPECT_EQ(RefusalOf(problem, kBackwardData), refusal);
}

TEST_F(TurnedAcceptsTest, NoGroupsAndNoBias) {
  g_.groups = 2;
  EXPECT_EQ(RefusalOf(With(kChannelsLast, kInputsLast), kForward), "there are groups");
  g_.groups = 1;
  ConvProblem problem = With(kChannelsLast, kInputsLast);
  problem.has_bias = true;
  EXPECT_EQ(RefusalOf(problem, kForward), "a bias is added");
}

}  // namespace
}  // namespace canopy::conv
