// SPDX-License-Identifier: Apache-2.0
#include "conv/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "conv/conv.h"
#include "conv/plan_cache.h"
#include "exec/pool.h"
#include "kernels/dispatch.h"
#include "kernels/gather_gemm/contract.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

ConvProblem Square(int64_t channels, int64_t size) {
  ConvProblem p;
  Geometry& g = p.geometry;
  g.batch = 2;
  g.input_channels = g.output_channels = channels;
  g.input_size = g.output_size = {1, size, size};
  g.kernel = {1, 3, 3};
  g.pad_begin = {0, 1, 1};
  const std::array<int64_t, 5> activation = {channels * size * size, size * size, size * size, size, 1};
  p.input.strides = p.output.strides = p.input_result.strides = activation;
  p.weight.strides = p.weight_result.strides = {channels * 9, 9, 9, 3, 1};
  p.bias_result.strides[1] = 1;
  p.computations = kBackwardData | kBackwardWeights | kBiasFromOutput;
  return p;
}

TEST(PlanTest, TheSameProblemGivesTheSamePlan) {
  const std::unique_ptr<Plan> a = BuildPlan(Square(17, 9), nullptr), b = BuildPlan(Square(17, 9), nullptr);
  EXPECT_EQ(Describe(*a), Describe(*b));
  EXPECT_EQ(a->workspace_bytes(), b->workspace_bytes());
}

TEST(PlanTest, EveryWantedComputationHasOneStepAndNoOther) {
  const std::unique_ptr<Plan> plan = BuildPlan(Square(8, 9), nullptr);
  ASSERT_EQ(plan->steps.size(), 3u);
  EXPECT_EQ(plan->steps[0].computations, kBackwardData);
  EXPECT_EQ(plan->steps[1].computations, kBackwardWeights);
  EXPECT_EQ(plan->steps[2].computations, kBiasFromOutput);
}

ConvProblem Depthwise(uint8_t computations) {
  ConvProblem p = Square(32, 56);
  p.geometry.groups = 32;
  p.weight.strides = p.weight_result.strides = {9, 9, 9, 3, 1};
  p.computations = computations;
  return p;
}

TEST(PlanTest, OneStepServesSeveralComputationsWhereThatIsLessWork) {
  const std::unique_ptr<Plan> plan = BuildPlan(Depthwise(kBackwardData | kBackwardWeights | kBiasFromOutput), nullptr);
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(plan->steps[0].computations, kBackwardData | kBackwardWeights | kBiasFromOutput);
  EXPECT_EQ(AlgorithmNames(*plan), "joint_planes,joint_planes,joint_planes");
  EXPECT_EQ(Describe(*plan).find("backward data, backward weights, bias gradient: joint_planes, "), 0u);
  const std::unique_ptr<Plan> two = BuildPlan(Depthwise(kBackwardData | kBackwardWeights), nullptr);
  EXPECT_EQ(two->steps.size(), 1u);
}

// A bias gradient is the sum of what the others round, which no kernel takes beside but of FP32 numbers.
TEST(PlanTest, WhatAJointStepDoesNotServeHasAStepOfItsOwn) {
  ConvProblem problem = Depthwise(kBackwardData | kBackwardWeights | kBiasFromOutput);
  problem.rule.input_rounding = numerics::InputRounding::kHfloat32x11;
  EXPECT_EQ(BuildPlan(problem, nullptr)->steps.size(), 1u);
  problem.output.dtype = numerics::DType::kFloat16;
  const std::unique_ptr<Plan> plan = BuildPlan(problem, nullptr);
  ASSERT_EQ(plan->steps.size(), 2u);
  EXPECT_EQ(plan->steps[0].computations, kBackwardData | kBackwardWeights);
  const std::string names = AlgorithmNames(*plan);  // which is faster depends on how long vectors are
  EXPECT_TRUE(names == "joint_planes,joint_planes,channel_sum" || names == "depth_lanes,depth_lanes,channel_sum")
      << names;
}

TEST(PlanTest, NoBookingIsLeftOfStepsThatAJointOneReplaced) {
  const ConvProblem problem = Depthwise(kBackwardData | kBackwardWeights | kBiasFromOutput);
  const std::unique_ptr<Plan> free = BuildPlan(problem, nullptr), forced = BuildPlan(problem, "joint_planes");
  EXPECT_EQ(free->workspace_bytes(), forced->workspace_bytes());
  ASSERT_EQ(free->steps.size(), 1u);
  ASSERT_EQ(forced->steps.size(), 1u);
  EXPECT_EQ(free->steps[0].ledger.entries().size(), forced->steps[0].ledger.entries().size());
}

TEST(PlanTest, AskingForOneAlgorithmLeavesTheReferenceForTheRestAndSaysWhy) {
  const std::unique_ptr<Plan> plan = BuildPlan(Square(8, 9), "channel_sum");
  EXPECT_EQ(AlgorithmNames(*plan), "reference,reference,channel_sum");
  EXPECT_NE(Describe(*plan).find("it serves bias gradients only\n"), std::string::npos) << Describe(*plan);
}

TEST(PlanTest, DirectRulesOutTheFastAlgorithms) {
  ConvProblem problem = Square(64, 56);
  problem.computations = kBackwardData;
  EXPECT_TRUE(BuildPlan(problem, nullptr)->steps[0].algorithm->fast);
  EXPECT_FALSE(BuildPlan(problem, kDirect)->steps[0].algorithm->fast);
  EXPECT_STRNE(BuildPlan(problem, kDirect)->steps[0].algorithm->name, "reference");
}

TEST(PlanTest, AThreadsOwnMemoryIsInTheSamePlaceInAllStepsWhereThereIsRoom) {
  ConvProblem problem = Square(128, 28);
  problem.geometry.batch = 8;
  const std::unique_ptr<Plan> plan = BuildPlan(problem, nullptr);
  int64_t largest = 0, spread = 0;
  for (const PlannedStep& planned : plan->steps) largest = std::max(largest, planned.ledger.step());
  for (const PlannedStep& planned : plan->steps) {
    plan::WorkspaceLedger further = planned.ledger;
    further.Spread(largest, plan->workspace_bytes());
    EXPECT_EQ(further.step(), planned.ledger.step()) << planned.algorithm->name;
    EXPECT_LE(planned.ledger.total_bytes(), plan->workspace_bytes());
    spread += planned.ledger.step() == largest;
  }
  EXPECT_GE(spread, exec::ThreadCount() > 1 ? 2 : 1);
}

// docs/accuracy.md: the rarest of very many results would be off too far.
TEST(PlanTest, VeryManyResultsAreNotMadeBySquares) {
  for (const int64_t size : {256, 1024}) {
    ConvProblem problem = Square(64, size);
    problem.computations = kBackwardData;
    const std::string plan = Describe(*BuildPlan(problem, "winograd"));
    const bool squares = plan.find("winograd, 1x4x4 tiles") != std::string::npos;
    const bool lines = plan.find("winograd, 1x1x4 tiles") != std::string::npos ||
                       plan.find("winograd, 1x4x1 tiles") != std::string::npos;
    EXPECT_EQ(squares, size == 256) << plan;
    EXPECT_EQ(lines, size == 1024) << plan;
  }
}

TEST(PlanTest, RefusalsAreAListWithoutALooseEnd) {
  const std::unique_ptr<Plan> plan = BuildPlan(Square(8, 9), nullptr);
  const std::string refusals = Refusals(*plan, plan->steps.back());
  EXPECT_NE(refusals.find("; channel_lanes: "), std::string::npos) << refusals;
  for (const PlannedStep& step : plan->steps) EXPECT_FALSE(Refusals(*plan, step).ends_with("; "));
}

// Work is counted in one unit on every instruction set: vectors half as wide have fewer sums and more calls, but a step
// that counted its own vectors would take twice as long, and lose to all others.
TEST(PlanTest, WorkIsCountedAlikeWhateverAVectorHas) {
  ConvProblem pointwise = Square(64, 28);
  pointwise.geometry.kernel = {1, 1, 1};
  pointwise.geometry.pad_begin = {0, 0, 0};
  pointwise.weight.strides = pointwise.weight_result.strides = {64, 1, 1, 1, 1};
  // Of few kernel columns, which any registers hold at once: larger kernels take more passes over sheets where there
  // are fewer, and planes under 3x3 ones no sheets where there are masks. Those are other ways, not other units.
  ConvProblem depthwise = Depthwise(0);
  depthwise.geometry.kernel = {1, 1, 3};
  depthwise.geometry.pad_begin = {0, 0, 1};
  depthwise.weight.strides = depthwise.weight_result.strides = {3, 3, 3, 3, 1};
  for (ConvProblem problem : {Square(64, 28), pointwise, depthwise}) {
    for (const Computation computation : {kBackwardData, kBackwardWeights}) {
      problem.computations = computation;
      for (int i = 0; i < kAlgorithmCount; ++i) {
        if (!kAlgorithms[i].accepts(problem, computation).empty()) continue;
        double wider = 0;
        for (const int64_t target : kernels::MachineTargets()) {
          const kernels::ScopedTarget scoped(target);
          if (kernels::AllGatherTiles().vector_lanes == 1) continue;  // nor registers for sums
          const double work = BuildPlan(problem, kAlgorithms[i].name)->work;
          if (wider > 0) {
            EXPECT_LT(work, 1.7 * wider) << kAlgorithms[i].name << ", " << kernels::TargetName(target);
          }
          wider = work;
        }
      }
    }
  }
}

TEST(PlanTest, ASmallProblemIsSmallAndALargeOneIsNot) {
  EXPECT_TRUE(IsSmall(*BuildPlan(Square(2, 7), nullptr)));
  EXPECT_FALSE(IsSmall(*BuildPlan(Square(64, 56), nullptr)));
}

TEST(PlanTest, AProblemOfMillisecondsIsBriefAndALargeOneIsNot) {
  EXPECT_TRUE(IsBrief(*BuildPlan(Square(64, 28), nullptr)));
  EXPECT_FALSE(IsSmall(*BuildPlan(Square(64, 28), nullptr)));
  EXPECT_FALSE(IsBrief(*BuildPlan(Square(256, 112), nullptr)));
}

TEST(PlanCacheTest, FindsWhatWasInsertedByTheWholeProblem) {
  PlanCache cache(8);
  std::shared_ptr<const Plan> plan = BuildPlan(Square(8, 9), nullptr);
  cache.Insert(plan);
  EXPECT_EQ(cache.Find(Square(8, 9)), plan);
  ConvProblem other = Square(8, 9);
  other.bias_result.strides[1] = 2;  // a field that the hash leaves out must still tell problems apart
  EXPECT_EQ(cache.Find(other), nullptr);
}

TEST(PlanCacheTest, NeverGrowsPastItsCapacityAndForgetsTheLeastRecentlyUsed) {
  PlanCache cache(3);
  for (int64_t size = 5; size < 8; ++size) cache.Insert(BuildPlan(Square(4, size), nullptr));
  EXPECT_NE(cache.Find(Square(4, 5)), nullptr);  // used: 6 is now the oldest
  cache.Insert(BuildPlan(Square(4, 8), nullptr));
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(cache.Find(Square(4, 6)), nullptr);
  EXPECT_NE(cache.Find(Square(4, 5)), nullptr);
  EXPECT_NE(cache.Find(Square(4, 8)), nullptr);
}

TEST(PlanCacheTest, ServesSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 300; ++i) {
        std::shared_ptr<const Plan> plan;
        ASSERT_TRUE(MakePlan(Square(4 + (i + t) % 7, 9), &plan).ok());
        ASSERT_EQ(plan->problem.geometry.input_channels, 4 + (i + t) % 7);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

double WorkOf(const Algorithm& algorithm, const ConvProblem& problem, int computations) {
  plan::WorkspaceLedger ledger;
  return algorithm.make_step(problem, static_cast<Computation>(computations), &ledger)->Work();
}

// By which the planner knows of most joint steps that they are not less work, without making them.
TEST(PlanTest, NoStepForSeveralComputationsIsLessWorkThanTheSameAlgorithmsForOne) {
  constexpr int kWeightsAndBias = kBackwardWeights | kBiasFromOutput, kAll = kBackwardData | kWeightsAndBias;
  int compared = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    const ConvProblem problem = RandomCase(seed, true, seed % 3 == 0).problem;
    for (int i = 0; i < kAlgorithmCount; ++i) {
      const Algorithm& algorithm = kAlgorithms[i];
      const auto accepts = [&](int set) { return algorithm.accepts(problem, static_cast<Computation>(set)).empty(); };
      for (const int set : {kAll, kBackwardData | kBackwardWeights, kWeightsAndBias, kBackwardData | kBiasFromOutput}) {
        if (!algorithm.joint || !accepts(set)) continue;
        for (const int one : {kBackwardData, kBackwardWeights}) {
          if ((set & one) == 0 || !accepts(one)) continue;
          ++compared;
          EXPECT_GE(WorkOf(algorithm, problem, set), WorkOf(algorithm, problem, one))
              << algorithm.name << ", seed " << seed << ", computations " << set << " and " << one;
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 500);
}

}  // namespace
}  // namespace canopy::conv
