// SPDX-License-Identifier: Apache-2.0
// Every algorithm of the list, on every problem it accepts, against the formula that heads conv/problem.h in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "conv/algorithm.h"
#include "conv/bf16_dot.h"
#include "conv/conv.h"
#include "conv/plan.h"
#include "exec/pool.h"
#include "kernels/dispatch.h"
#include "numerics/rounding.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/joint_gradients.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

class AlgorithmsTest : public testing::TestWithParam<int> {};

// The formula's sums of RandomCase(seed, integers, fast, types), worked out once for all algorithms and targets.
const Sums& ExpectedOf(uint32_t seed, bool integers, bool fast, Types types, const Case& c) {
  static std::map<std::tuple<uint32_t, bool, bool, Types>, Sums> known;
  const auto [place, unknown] = known.try_emplace({seed, integers, fast, types});
  if (unknown) place->second = Expected(c);
  return place->second;
}

// Returns whether the algorithm took part.
bool ExpectFormula(const Algorithm& algorithm, uint32_t seed, const std::string& trace, Types types = Types::kAny) {
  const char* name = algorithm.name;
  const bool integers = seed % 2 == 0;
  Case c = RandomCase(seed, integers, algorithm.fast, types);
  std::optional<exec::ScopedBackwardJobs> backward;
  if (seed % 4 >= 2) backward.emplace();
  const bool forward = RunIfServed(&c, name, kForward);
  const bool gradients = RunIfServed(&c, name, kBackwardData | kBackwardWeights | kBiasFromOutput);
  if (testing::Test::HasFailure() || (!forward && !gradients)) return false;
  const Sums& expected = ExpectedOf(seed, integers, algorithm.fast, types, c);
  // Small integers make every sum exact; else FP32 sums of at most 3,600 terms.
  // Fast algorithms multiply numbers that are not whole: their own bound holds for both.
  const double tolerance = algorithm.fast ? 3e-6 : integers ? 0 : 1e-6;
  if (forward) ExpectNear("forward", c.output_result, expected.output, tolerance, trace);
  if (!gradients) return true;
  ExpectNear("backward data", c.input_result, expected.input, tolerance, trace);
  ExpectNear("backward weights", c.weight_result, expected.weight, tolerance, trace);
  // Few channels, so that terms which cancel would leave nothing to hold errors against: their magnitudes serve.
  std::vector<double> bias(c.problem.geometry.output_channels, 0), magnitudes = bias;
  ForEach(c.output.dims, [&](const std::array<int64_t, 5>& at) {
    bias[at[1]] += c.output.Get(at);
    magnitudes[at[1]] += std::abs(c.output.Get(at));
  });
  ForEach(c.bias_result.dims, [&](const std::array<int64_t, 5>& at) {
    EXPECT_LE(std::abs(c.bias_result.Get(at) - bias[at[1]]), tolerance * magnitudes[at[1]])
        << "bias gradient " << at[1] << ": " << trace;
  });
  return true;
}

TEST_P(AlgorithmsTest, MatchTheFormulaOnRandomProblems) {
  const Algorithm& algorithm = kAlgorithms[GetParam()];
  const char* name = algorithm.name;
  const uint32_t count = algorithm.fast ? 80 : 400;  // of many more channels
  int accepted = 0;
  for (uint32_t seed = 0; seed < count; ++seed) {
    accepted += ExpectFormula(algorithm, seed, std::string(name) + ", seed " + std::to_string(seed)) ? 1 : 0;
    if (HasFailure()) return;
  }
  if (ServesNobody(name)) {
    EXPECT_EQ(accepted, 0) << name;
  } else if (name != std::string("toeplitz")) {
    // Kernels that reach over whole rows are drawn by toeplitz_test alone, which counts those that were served.
    EXPECT_GT(accepted, 0) << name;
  }
}

TEST_P(AlgorithmsTest, MatchTheFormulaOnEveryInstructionSet) {
  const Algorithm& algorithm = kAlgorithms[GetParam()];
  const char* name = algorithm.name;
  if (name == std::string("reference")) GTEST_SKIP() << "it has no kernels";
  const uint32_t count = algorithm.fast ? 15 : 40;  // of many more channels
  for (const int64_t target : kernels::MachineTargets()) {
    const kernels::ScopedTarget scoped(target);
    for (uint32_t seed = 1000; seed < 1000 + count; ++seed) {
      ExpectFormula(algorithm, seed,
                    std::string(name) + ", " + kernels::TargetName(target) + ", seed " + std::to_string(seed));
      if (HasFailure()) return;
    }
  }
}

TEST_P(AlgorithmsTest, MatchTheFormulaInBf16WithDotProductsAndWithout) {
  const Algorithm& algorithm = kAlgorithms[GetParam()];
  const uint32_t count = algorithm.fast ? 4 : 60;  // of many more channels
  for (bool dot : {true, false}) {
    const ScopedBf16Dot scoped(dot);
    for (uint32_t seed = 2000; seed < 2000 + count; ++seed) {
      const std::string trace = std::string(algorithm.name) + ", dot " + std::to_string(dot) + ", seed ";
      ExpectFormula(algorithm, seed, trace + std::to_string(seed), seed % 4 < 2 ? Types::kBf16 : Types::kRoundedToBf16);
      if (HasFailure()) return;
    }
  }
}

// A product of a packed zero and Inf is NaN; a padded tap is no product at all.
TEST_P(AlgorithmsTest, KeepPaddingAbsentWhenTheOtherSideIsNotFinite) {
  const char* name = kAlgorithms[GetParam()].name;
  for (uint32_t seed = 0; seed < 90; ++seed) {
    Case c = RandomCase(seed, true, kAlgorithms[GetParam()].fast, seed % 4 < 3 ? Types::kAny : Types::kBf16);
    MakeOneInfinite(&c, seed);
    const bool forward = RunIfServed(&c, name, kForward);
    const bool gradients = RunIfServed(&c, name, kBackwardData | kBackwardWeights);
    if (!forward && !gradients) continue;
    const Sums expected = Expected(c);
    const std::string trace = std::string(name) + ", seed " + std::to_string(seed);
    if (forward) ExpectSameClasses(c.output_result, expected.output, trace + " forward");
    if (gradients) {
      ExpectSameClasses(c.input_result, expected.input, trace + " backward data");
      ExpectSameClasses(c.weight_result, expected.weight, trace + " backward weights");
    }
    if (HasFailure()) return;
  }
}

// Where one pass serves weights and bias, what is done again for the weights' sake must leave the bias alone.
TEST_P(AlgorithmsTest, SumBiasGradientsOverOutputsThatAreNotFinite) {
  const char* name = kAlgorithms[GetParam()].name;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Case c = RandomCase(seed, true, kAlgorithms[GetParam()].fast);
    numerics::StoreElement(c.output.bytes.data(), c.output.operand.dtype, INFINITY, false);
    if (!RunIfServed(&c, name, kBackwardWeights | kBiasFromOutput)) continue;
    const std::vector<double> bias = BiasOf(c);
    ForEach(c.bias_result.dims, [&](const std::array<int64_t, 5>& at) {
      EXPECT_EQ(c.bias_result.Get(at), bias[at[1]]) << name << ", seed " << seed << ", channel " << at[1];
    });
    if (HasFailure()) return;
  }
}

// 65,536 terms of one sign, in planes of one column and in many small ones. Adding a number to a sum again and again
// errs to one side: by up to 256 * 2^-25 of the sum where no more than 256 terms meet in an FP32 number, twice.
TEST_P(AlgorithmsTest, SumLongBiasGradientsInShortParts) {
  const char* name = kAlgorithms[GetParam()].name;
  for (uint32_t seed = 0; seed < 4; ++seed) {
    Geometry g;
    g.batch = seed % 2 == 0 ? 64 : 16384;
    g.input_channels = 3;
    g.output_channels = 2;
    g.input_size = g.output_size = seed % 2 == 0 ? Extent3{1, 1024, 1} : Extent3{1, 2, 2};
    g.kernel = {1, 3, 3};
    g.pad_begin = {0, 1, 1};
    Draw draw(seed);
    Case c = PlainCase(g, 1, seed < 2 ? DType::kFloat32 : DType::kBFloat16, &draw);
    if (seed < 2) c.problem.rule.input_rounding = numerics::InputRounding::kHfloat32x11;
    ForEach(c.output.dims, [&](const std::array<int64_t, 5>& at) { c.output.Set(at, 0.1f); });
    if (!RunIfServed(&c, name, kBackwardWeights | kBiasFromOutput)) continue;
    const double sum = 65536 * c.output.Get({0, 0, 0, 0, 0});
    for (int64_t channel : {0, 1}) {
      EXPECT_NEAR(c.bias_result.Get({0, channel, 0, 0, 0}), sum, sum * 2 * 256 / (1 << 25))
          << name << ", seed " << seed;
    }
  }
}

// columns divided by the number of strips of an output that had none.
TEST_P(AlgorithmsTest, PlanProblemsWithoutOutput) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Case c = RandomCase(seed, true, kAlgorithms[GetParam()].fast);
    c.problem.geometry.output_size[seed % 3] = 0;
    for (const Computation computation : {kBackwardData, kBackwardWeights}) {
      c.problem.computations = computation;
      EXPECT_FALSE(BuildPlan(c.problem, kAlgorithms[GetParam()].name)->steps.empty());
    }
  }
}

// A plan does not know how the stream that it will run on overflows.
TEST_P(AlgorithmsTest, SaturateWhereTheRunDemandsIt) {
  const char* name = kAlgorithms[GetParam()].name;
  for (uint32_t seed = 0; seed < 90; ++seed) {
    Case c = RandomCase(seed, true, kAlgorithms[GetParam()].fast, seed % 4 < 3 ? Types::kAny : Types::kRoundedToBf16);
    // Sums beyond the range, from numbers that fast algorithms take as they are; now and then from one that they don't.
    ForEach(c.output.dims, [&](const auto& at) { c.output.Set(at, std::numeric_limits<float>::max()); });
    if (seed % 3 == 0) numerics::StoreElement(c.output.bytes.data(), c.output.operand.dtype, INFINITY, false);
    const uint8_t all = kBackwardData | kBackwardWeights | kBiasFromOutput;
    if (!RunIfServed(&c, name, all, /*saturate=*/true)) continue;
    for (const Tensor* result : {&c.input_result, &c.weight_result, &c.bias_result}) {
      ForEach(result->dims, [&](const std::array<int64_t, 5>& at) {
        EXPECT_TRUE(std::isfinite(result->Get(at))) << name << ", seed " << seed;
      });
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AlgorithmsTest, testing::Range(0, kAlgorithmCount),
                         [](const auto& info) { return std::string(kAlgorithms[info.param].name); });

}  // namespace
}  // namespace canopy::conv
