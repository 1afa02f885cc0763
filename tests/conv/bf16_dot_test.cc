// SPDX-License-Identifier: Apache-2.0
#include "conv/bf16_dot.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "conv/conv.h"
#include "conv/plan.h"
#include "kernels/gather_gemm/contract.h"
#include "tests/conv/case.h"

namespace canopy::conv {
namespace {

using numerics::DType;
using numerics::InputRounding;

base::CpuFacts Cpu(const char* vendor, int family, int model) {
  base::CpuFacts facts;
  facts.vendor = vendor;
  facts.family = family;
  facts.model_number = model;
  return facts;
}

TEST(Bf16DotTest, RatesFollowTheProcessorAndUnknownOnesHaveNone) {
  EXPECT_GT(RecordedBf16DotRate(Cpu("AuthenticAMD", 26, 2)), 1);
  EXPECT_GT(RecordedBf16DotRate(Cpu("AuthenticAMD", 25, 17)), 1);
  EXPECT_EQ(RecordedBf16DotRate(Cpu("AuthenticAMD", 23, 49)), 0);
  EXPECT_LT(RecordedBf16DotRate(Cpu("GenuineIntel", 6, 143)), 1);
  EXPECT_LT(RecordedBf16DotRate(Cpu("GenuineIntel", 6, 207)), 1);
  EXPECT_EQ(RecordedBf16DotRate(Cpu("GenuineIntel", 6, 85)), 0);
  EXPECT_EQ(RecordedBf16DotRate(Cpu("", 26, 2)), 0);
}

TEST(Bf16DotTest, OnlyBf16NumbersAreMultiplied) {
  if (kernels::PairGatherTiles().count == 0) GTEST_SKIP() << "this processor has no BF16 dot products";
  const ScopedBf16Dot on(true);
  const auto used = [](DType x, DType y, InputRounding rounding) { return Bf16DotRate(x, y, {rounding, false}) > 0; };
  EXPECT_TRUE(used(DType::kBFloat16, DType::kBFloat16, InputRounding::kNone));
  EXPECT_TRUE(used(DType::kFloat32, DType::kBFloat16, InputRounding::kBFloat16));
  EXPECT_FALSE(used(DType::kFloat32, DType::kBFloat16, InputRounding::kNone));
  EXPECT_FALSE(used(DType::kBFloat16, DType::kFloat16, InputRounding::kNone));
  EXPECT_FALSE(used(DType::kBFloat16, DType::kBFloat16, InputRounding::kFloat16));
  EXPECT_FALSE(used(DType::kBFloat16, DType::kBFloat16, InputRounding::kHfloat32x11));
}

TEST(Bf16DotTest, VectorsAreAsFastWithAMatrixUnitAsWithout) {
  const double rate = Bf16VectorDotRate(DType::kBFloat16, DType::kBFloat16, {InputRounding::kNone, false});
  const double recorded = RecordedBf16DotRate(base::Cpu());
  EXPECT_EQ(rate, recorded > 1 && kernels::PairGatherTiles().count > 0 ? recorded : 0);
  EXPECT_EQ(Bf16VectorDotRate(DType::kFloat32, DType::kBFloat16, {InputRounding::kNone, false}), 0);
}

TEST(Bf16DotTest, ATestCanForbidThem) {
  const ScopedBf16Dot off(false);
  EXPECT_EQ(Bf16DotRate(DType::kBFloat16, DType::kBFloat16, {InputRounding::kNone, false}), 0);
}

TEST(Bf16DotTest, ChannelLanesUsesThemAndCountsWhatTheySave) {
  if (Bf16DotRate(DType::kBFloat16, DType::kBFloat16, {InputRounding::kNone, false}) <= 1) {
    GTEST_SKIP() << "this processor has no fast BF16 dot products";
  }
  ConvProblem problem;
  Geometry& g = problem.geometry;
  g = {4, 1, 64, 64, {1, 14, 14}, {1, 14, 14}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}};
  problem.computations = kForward;
  problem.input = problem.output_result = {DType::kBFloat16, {64 * 14 * 14, 14 * 14, 14 * 14, 14, 1}};
  problem.weight = {DType::kBFloat16, {64 * 9, 9, 9, 3, 1}};
  const auto step = [&](bool dot) {
    const ScopedBf16Dot scoped(dot);
    return std::move(BuildPlan(problem, "channel_lanes")->steps[0].step);
  };
  const auto with = step(true), without = step(false);
  EXPECT_NE(with->Describe().find("dot products"), std::string::npos) << with->Describe();
  EXPECT_EQ(without->Describe().find("dot products"), std::string::npos) << without->Describe();
  EXPECT_LT(with->Work(), 0.7 * without->Work());
}

TEST(Bf16DotTest, WeightGradientsUseThemForMoreThanOneImage) {
  if (kernels::PairGatherTiles().count == 0) GTEST_SKIP() << "this processor has no BF16 dot products";
  const ScopedBf16Dot on(true);
  for (int64_t batch : {1, 2, 3}) {
    ConvProblem problem;
    problem.geometry = {batch, 1, 16, 16, {1, 14, 14}, {1, 14, 14}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}};
    problem.computations = kBackwardWeights;
    problem.input = problem.output = {DType::kBFloat16, {16 * 14 * 14, 14 * 14, 14 * 14, 14, 1}};
    problem.weight_result = {DType::kBFloat16, {16 * 9, 9, 9, 3, 1}};
    const auto plan = BuildPlan(problem, "channel_lanes");
    EXPECT_EQ(plan->steps[0].step->Describe().find("dot products") != std::string::npos, batch > 1) << batch;
  }
}

// FP32 results of an algorithm for dense BF16 tensors of small whole numbers, of which every sum is exact.
std::vector<char> Gradient(const Geometry& g, const char* algorithm, Computation computation, bool dot) {
  const ScopedBf16Dot scoped(dot);
  const std::array<int, 5> order = {0, 1, 2, 3, 4};
  const std::array<int64_t, 5> in = {g.batch, g.input_channels, g.input_size[0], g.input_size[1], g.input_size[2]};
  const std::array<int64_t, 5> out = {g.batch, g.output_channels, g.output_size[0], g.output_size[1], g.output_size[2]};
  const std::array<int64_t, 5> kernel = {g.output_channels, g.group_input_channels(), g.kernel[0], g.kernel[1],
                                         g.kernel[2]};
  Tensor input = MakeTensor(in, DType::kBFloat16, order, 0), output = MakeTensor(out, DType::kBFloat16, order, 0);
  Tensor weight = MakeTensor(kernel, DType::kBFloat16, order, 0);
  std::mt19937 random(7);
  for (Tensor* tensor : {&input, &output, &weight}) FillRandom(tensor, true, &random);
  Tensor input_result = MakeTensor(in, DType::kFloat32, order, 0);
  Tensor weight_result = MakeTensor(kernel, DType::kFloat32, order, 0);
  ConvProblem problem;
  problem.geometry = g;
  problem.computations = computation;
  problem.input = input.operand;
  problem.weight = weight.operand;
  problem.output = output.operand;
  problem.input_result = input_result.operand;
  problem.weight_result = weight_result.operand;
  const std::unique_ptr<Plan> plan = BuildPlan(problem, algorithm);
  EXPECT_STREQ(plan->steps[0].algorithm->name, algorithm);
  std::vector<char> workspace(static_cast<size_t>(plan->workspace_bytes()));
  Run(*plan,
      {input.bytes.data(), weight.bytes.data(), output.bytes.data(), nullptr, input_result.bytes.data(),
       weight_result.bytes.data(), nullptr, nullptr},
      workspace.data(), false);
  return computation == kBackwardWeights ? weight_result.bytes : input_result.bytes;
}

template <size_t kCount>
void ExpectTheSameWithAndWithout(const Geometry (&problems)[kCount], const char* algorithm) {
  for (const Computation computation : {kBackwardData, kBackwardWeights}) {
    for (size_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(Gradient(problems[i], algorithm, computation, true),
                Gradient(problems[i], algorithm, computation, false))
          << algorithm << ", " << ComputationNames(computation) << " of problem " << i;
    }
  }
}

// More terms than one tile product adds, odd rests of them, rows that are cut: more than the sweep's problems have.
TEST(Bf16DotTest, SumsOfWholeNumbersAreTheSameWithAndWithout) {
  const Geometry problems[] = {
      {1, 1, 3, 1101, {1, 6, 6}, {1, 3, 3}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}},
      {1, 1, 2, 5, {1, 1, 2003}, {1, 1, 1001}, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0, 0, 0}},
      {1, 1, 3, 17, {3, 37, 37}, {3, 37, 37}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
  };
  for (const char* algorithm : {"columns", "channel_lanes"}) ExpectTheSameWithAndWithout(problems, algorithm);
  // Planes of an odd number of pixels and of more than a piece has; every second pixel, in odd rows; whole bundles.
  const Geometry unfolding[] = {
      {3, 1, 35, 1101, {1, 7, 7}, {1, 7, 7}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
      {2, 2, 66, 34, {1, 30, 46}, {1, 30, 46}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
      {2, 1, 19, 21, {1, 50, 70}, {1, 25, 35}, {1, 1, 1}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}},
      {2, 1, 3, 40, {1, 30, 21}, {1, 10, 7}, {1, 3, 3}, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}},
  };
  ExpectTheSameWithAndWithout(unfolding, "pointwise");
}

}  // namespace
}  // namespace canopy::conv
