// SPDX-License-Identifier: Apache-2.0
#include "conv/bf16_dot.h"

#include <gtest/gtest.h>

#include <utility>

#include "conv/plan.h"
#include "kernels/gather_gemm/contract.h"

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

TEST(Bf16DotTest, ATestCanForbidThem) {
  const ScopedBf16Dot off(false);
  EXPECT_EQ(Bf16DotRate(DType::kBFloat16, DType::kBFloat16, {InputRounding::kNone, false}), 0);
}

TEST(Bf16DotTest, ChannelLanesUsesThemAndCountsWhatTheySave) {
  if (kernels::PairGatherTiles().count == 0 || RecordedBf16DotRate(base::Cpu()) <= 1) {
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

}  // namespace
}  // namespace canopy::conv
