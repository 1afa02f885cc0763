// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: many channels, deep sums, every type and layout at sizes where rows
// and lanes are cut, and numbers that parts cannot express.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "conv/plan.h"
#include "exec/pool.h"
#include "kernels/split_gemm/contract.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

constexpr const char* kName = "split_gemm";

bool None() { return kernels::SplitGemm(3) == nullptr; }

Geometry DrawGeometry(Draw* draw) {
  const int64_t channels[] = {16, 17, 31, 32, 33, 48, 64, 70};
  Geometry g;
  g.groups = (*draw)(0, 4) == 0 ? 2 : 1;
  g.input_channels = g.groups * channels[(*draw)(0, 7)];
  g.output_channels = g.groups * channels[(*draw)(0, 7)];
  g.batch = (*draw)(1, 3);
  const int first_axis = static_cast<int>((*draw)(0, 2));
  g.input_size = g.output_size = {1, 1, 1};
  for (int a = first_axis; a < 3; ++a) {
    g.kernel[a] = (*draw)(1, 3);
    g.stride[a] = (*draw)(0, 1) == 0 ? 1 : (*draw)(1, 4);
    g.dilation[a] = (*draw)(0, 2) == 0 ? (*draw)(2, 5) : 1;
    g.pad_begin[a] = (*draw)(0, 3);
    const int64_t reach = (g.kernel[a] - 1) * g.dilation[a], behind = (*draw)(0, 3);
    g.output_size[a] = (*draw)(1, a == 2 ? 40 : first_axis == 0 ? 3 : 9);
    g.input_size[a] = std::max<int64_t>(1, (g.output_size[a] - 1) * g.stride[a] + reach + 1 - g.pad_begin[a] - behind);
  }
  return g;
}

Case DrawCase(uint32_t seed) {
  Draw draw(seed);
  Case c;
  const Geometry g = c.problem.geometry = DrawGeometry(&draw);
  const DType type = draw(0, 2) == 0 ? DType::kFloat16 : DType::kFloat32;
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype) {
    const std::array<int, 5> orders[] = {{0, 1, 2, 3, 4}, {0, 2, 3, 4, 1}, {3, 4, 0, 2, 1}, {4, 3, 2, 1, 0}};
    Tensor tensor = MakeTensor(dims, dtype, orders[draw(0, 2) == 0 ? draw(1, 3) : 0], draw(0, 1) * 3);
    FillRandom(&tensor, false, draw.engine());
    return tensor;
  };
  const auto [input, weight, output] = DimsOf(g);
  c.input = make(input, type);
  c.weight = make(weight, type);
  c.output = make(output, type);
  c.input_result = make(input, DType::kFloat32);
  c.weight_result = make(weight, DType::kFloat32);
  c.output_result = make(output, DType::kFloat32);
  if (draw(0, 3) == 0) c.problem.rule.input_rounding = numerics::InputRounding::kHfloat32x11;
  c.SetOperands();
  return c;
}

// Sums of up to 64 * 27 products: docs/accuracy.md has what larger ones are off by.
constexpr double kTolerance = 1e-6;

TEST(SplitGemmTest, ResultsAreTheFormulas) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  for (uint32_t seed = 0; seed < 150; ++seed) {
    Case c = DrawCase(seed);
    std::optional<exec::ScopedBackwardJobs> backward;
    if (seed % 4 >= 2) backward.emplace();
    for (const Computation computation : {kForward, kBackwardData, kBackwardWeights}) {
      EXPECT_EQ(RunAlgorithm(&c, kName, computation), computation) << "seed " << seed;
    }
    const Sums expected = Expected(c);
    const std::string trace = "seed " + std::to_string(seed);
    ExpectNear("forward", c.output_result, expected.output, kTolerance, trace);
    ExpectNear("backward data", c.input_result, expected.input, kTolerance, trace);
    ExpectNear("backward weights", c.weight_result, expected.weight, kTolerance, trace);
    if (HasFailure()) return;
  }
}

// A bias is added to the sums, where taps reach a result and where they do not.
TEST(SplitGemmTest, AddsABias) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  for (uint32_t seed = 400; seed < 420; ++seed) {
    Case c = DrawCase(seed);
    std::mt19937 random(seed);
    const bool forward = seed % 2 == 0;
    Tensor& result = forward ? c.output_result : c.input_result;
    c.bias = MakeTensor({1, result.dims[1], 1, 1, 1}, DType::kFloat32, {0, 1, 2, 3, 4}, 0);
    FillRandom(&c.bias, false, &random);
    c.problem.has_bias = true;
    c.SetOperands();
    const Computation computation = forward ? kForward : kBackwardData;
    EXPECT_EQ(RunAlgorithm(&c, kName, computation), computation) << "seed " << seed;
    const Sums sums = Expected(c);
    std::vector<double> expected = forward ? sums.output : sums.input;
    size_t i = 0;
    ForEach(result.dims, [&](const std::array<int64_t, 5>& at) { expected[i++] += c.bias.Get({0, at[1], 0, 0, 0}); });
    ExpectNear("result with a bias", result, expected, kTolerance, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

Case PointCase(int64_t input_channels, int64_t output_channels, int64_t pixels) {
  Geometry g;
  g.batch = 1;
  g.input_channels = input_channels;
  g.output_channels = output_channels;
  g.input_size = g.output_size = {1, 1, pixels};
  Draw draw(11);
  Case c = PlainCase(g, 11, DType::kFloat32, &draw);
  for (Tensor* tensor : {&c.input, &c.weight, &c.output}) FillRandom(tensor, false, draw.engine());
  return c;
}

void ExpectGradients(Case* c, double tolerance, const std::string& trace) {
  for (const Computation computation : {kBackwardData, kBackwardWeights}) {
    EXPECT_EQ(RunAlgorithm(c, kName, computation), computation) << trace;
  }
  const Sums expected = Expected(*c);
  ExpectNear("backward data", c->input_result, expected.input, tolerance, trace);
  ExpectNear("backward weights", c->weight_result, expected.weight, tolerance, trace);
}

// Several blocks of rows and lanes, sums of several levels, weights packed once, and stretches of pixels.
TEST(SplitGemmTest, ManyChannelsAndPixels) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  const std::array<int64_t, 3> sizes[] = {{300, 290, 70}, {40, 4200, 33}, {2500, 17, 9}, {33, 40, 9000}};
  for (const auto& [inputs, outputs, pixels] : sizes) {
    Case c = PointCase(inputs, outputs, pixels);
    ExpectGradients(&c, kTolerance, std::to_string(inputs) + " to " + std::to_string(outputs));
  }
}

TEST(SplitGemmTest, PaddingIsAbsentBesideWhatIsNotFinite) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  for (uint32_t seed = 300; seed < 324; ++seed) {
    Case c = DrawCase(seed);
    MakeOneInfinite(&c, seed);
    ExpectPaddingAbsent(&c, kName, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

void Scale(Tensor* tensor, float factor) {
  ForEach(tensor->dims,
          [&](const std::array<int64_t, 5>& at) { tensor->Set(at, static_cast<float>(tensor->Get(at)) * factor); });
}

// BF16 would round the greatest FP32 numbers to Inf.
TEST(SplitGemmTest, TheGreatestNumbersStayFinite) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  for (Tensor Case::*operand : {&Case::weight, &Case::output, &Case::input}) {
    Case c = PointCase(40, 33, 50);
    for (Tensor* tensor : {&c.weight, &c.output, &c.input}) Scale(tensor, 1e-3f);
    (c.*operand).Set({0, 0, 0, 0, 0}, std::numeric_limits<float>::max());
    ExpectGradients(&c, kTolerance, "the greatest number");
  }
}

// Where all numbers of an operand are tiny, their last parts would vanish; beside others that does not matter. The
// other operands are large, so that results are no tiny numbers themselves. Below 1e-33 some count as 0 everywhere.
TEST(SplitGemmTest, TinyNumbersKeepTheirDigits) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  for (const bool of_output : {false, true}) {
    for (const float factor : {1e-26f, 1e-29f, 1e-31f, 1e-33f}) {
      Case c = PointCase(40, 33, 50);
      for (Tensor* tensor : {&c.weight, &c.output, &c.input}) {
        const bool tiny = (tensor == &c.output) == of_output;
        Scale(tensor, tiny ? factor : 1e30f);
      }
      ExpectGradients(&c, kTolerance, "times " + std::to_string(std::log10(factor)));
      (of_output ? c.output : c.weight).Set({0, 0, 0, 0, 0}, 1);
      ExpectGradients(&c, kTolerance, "beside 1, times " + std::to_string(std::log10(factor)));
    }
  }
}

TEST(SplitGemmTest, ZerosGiveZeros) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  Case c = PointCase(40, 33, 50);
  Scale(&c.output, 0);
  ExpectGradients(&c, 0, "zeros");
}

TEST(SplitGemmTest, LeavesTypesThatPartsAreNoHelpFor) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  Draw draw(1);
  Case c = PlainCase(DrawGeometry(&draw), 1, DType::kBFloat16, &draw);
  EXPECT_EQ(RunAlgorithm(&c, kName, kBackwardData), 0);
}

}  // namespace
}  // namespace canopy::conv
