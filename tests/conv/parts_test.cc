// SPDX-License-Identifier: Apache-2.0
// Algorithms that multiply numbers in parts, and what the sweep over all algorithms hardly meets: many channels, deep
// sums, every type and layout at sizes where rows and lanes are cut, and numbers that parts cannot express.
#include <gtest/gtest.h>

#include <algorithm>
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

bool None() { return kernels::SplitGemm(3) == nullptr; }

// One of those algorithms.
struct PartsAlgorithm {
  const char* name;
  std::vector<Computation> computations;
  // Sums of up to 64 * 27 products, of the norm: docs/accuracy.md has what larger ones are off by.
  double tolerance;
  Geometry (*draw)(Draw* draw);
  Geometry small;
};

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

// Small images of kernels that reach over several offsets, in tiles that are cut at their ends.
Geometry DrawTiles(Draw* draw, int64_t most_stride) {
  const int64_t channels[] = {32, 33, 47, 64, 65, 80, 130};
  Geometry g;
  g.groups = (*draw)(0, 4) == 0 ? 2 : 1;
  g.input_channels = g.groups * channels[(*draw)(0, 6)];
  g.output_channels = g.groups * channels[(*draw)(0, 6)];
  g.batch = (*draw)(1, 4);
  const int dims = static_cast<int>((*draw)(1, 3));
  for (int a = 0; a < 3; ++a) {
    const bool exists = a >= 3 - dims;
    g.kernel[a] = exists ? (*draw)(a == 0 ? 1 : 2, dims == 3 ? 3 : 5) : 1;
    g.stride[a] = exists ? (*draw)(1, most_stride) : 1;
    g.dilation[a] = exists && g.stride[a] == 1 && (*draw)(0, 4) == 0 ? 2 : 1;
    g.pad_begin[a] = exists ? (*draw)(0, 2) : 0;
    g.output_size[a] = exists ? (*draw)(1, dims == 3 ? 6 : dims == 2 ? 11 : 40) : 1;
    const int64_t reach = (g.kernel[a] - 1) * g.dilation[a], behind = exists ? (*draw)(0, 2) : 0;
    g.input_size[a] = std::max<int64_t>(1, (g.output_size[a] - 1) * g.stride[a] + reach + 1 - g.pad_begin[a] - behind);
  }
  return g;
}

Geometry DrawTilesWithoutStride(Draw* draw) { return DrawTiles(draw, 1); }

// Offsets along one axis alone, of which weight gradients are served too.
Geometry DrawLines(Draw* draw) {
  Geometry g = DrawTiles(draw, 1);
  const int axis = static_cast<int>((*draw)(0, 2));
  for (int a = 0; a < 3; ++a) {
    if (a == axis) {
      g.kernel[a] = std::max<int64_t>(2, g.kernel[a]);
      const int64_t reach = (g.kernel[a] - 1) * g.dilation[a];
      g.input_size[a] = std::max<int64_t>(1, g.output_size[a] + reach - g.pad_begin[a]);
    } else {
      g.kernel[a] = g.dilation[a] = 1;
      g.pad_begin[a] = 0;
      g.input_size[a] = g.output_size[a];
    }
  }
  return g;
}

Case DrawCase(const PartsAlgorithm& algorithm, uint32_t seed) {
  Draw draw(seed);
  Case c;
  const Geometry g = c.problem.geometry = algorithm.draw(&draw);
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

Case SmallCase(const Geometry& g) {
  Draw draw(11);
  Case c = PlainCase(g, 11, DType::kFloat32, &draw);
  for (Tensor* tensor : {&c.input, &c.weight, &c.output}) FillRandom(tensor, false, draw.engine());
  return c;
}

Geometry Points(int64_t input_channels, int64_t output_channels, int64_t pixels) {
  Geometry g;
  g.batch = 1;
  g.input_channels = input_channels;
  g.output_channels = output_channels;
  g.input_size = g.output_size = {1, 1, pixels};
  return g;
}

Geometry Squares(int64_t input_channels, int64_t output_channels, int64_t side) {
  Geometry g = Points(input_channels, output_channels, side);
  g.input_size = g.output_size = {1, side, side};
  g.kernel = {1, 3, 3};
  g.pad_begin = {0, 1, 1};
  return g;
}

Geometry Line(int64_t input_channels, int64_t output_channels, int64_t pixels) {
  Geometry g = Points(input_channels, output_channels, pixels);
  g.kernel[2] = 3;
  g.pad_begin[2] = 1;
  return g;
}

class PartsTest : public testing::TestWithParam<PartsAlgorithm> {
 protected:
  void SetUp() override {
    if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  }

  const char* name() const { return GetParam().name; }

  // Runs every computation, and holds its results to the formula.
  void ExpectFormula(Case* c, const std::string& trace, uint8_t but = 0) const {
    const Sums expected = Expected(*c);
    for (const Computation computation : GetParam().computations) {
      if (computation == but) continue;
      EXPECT_EQ(RunAlgorithm(c, name(), computation), computation) << trace;
      const bool forward = computation == kForward, data = computation == kBackwardData;
      ExpectNear(forward ? "forward"
                 : data  ? "backward data"
                         : "backward weights",
                 forward ? c->output_result
                 : data  ? c->input_result
                         : c->weight_result,
                 forward ? expected.output
                 : data  ? expected.input
                         : expected.weight,
                 GetParam().tolerance, trace);
    }
  }
};

TEST_P(PartsTest, ResultsAreTheFormulas) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    Case c = DrawCase(GetParam(), seed);
    std::optional<exec::ScopedBackwardJobs> backward;
    if (seed % 4 >= 2) backward.emplace();
    ExpectFormula(&c, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

// A bias is added to the sums, where taps reach a result and where they do not.
TEST_P(PartsTest, AddsABias) {
  for (uint32_t seed = 400; seed < 420; ++seed) {
    Case c = DrawCase(GetParam(), seed);
    std::mt19937 random(seed);
    const bool forward = seed % 2 == 0;
    Tensor& result = forward ? c.output_result : c.input_result;
    c.bias = MakeTensor({1, result.dims[1], 1, 1, 1}, DType::kFloat32, {0, 1, 2, 3, 4}, 0);
    FillRandom(&c.bias, false, &random);
    c.problem.has_bias = true;
    c.SetOperands();
    const Computation computation = forward ? kForward : kBackwardData;
    EXPECT_EQ(RunAlgorithm(&c, name(), computation), computation) << "seed " << seed;
    const Sums sums = Expected(c);
    std::vector<double> expected = forward ? sums.output : sums.input;
    size_t i = 0;
    ForEach(result.dims, [&](const std::array<int64_t, 5>& at) { expected[i++] += c.bias.Get({0, at[1], 0, 0, 0}); });
    ExpectNear("result with a bias", result, expected, GetParam().tolerance, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

TEST_P(PartsTest, PaddingIsAbsentBesideWhatIsNotFinite) {
  for (uint32_t seed = 300; seed < 324; ++seed) {
    Case c = DrawCase(GetParam(), seed);
    MakeOneInfinite(&c, seed);
    ExpectPaddingAbsent(&c, name(), "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

void Scale(Tensor* tensor, float factor) {
  ForEach(tensor->dims,
          [&](const std::array<int64_t, 5>& at) { tensor->Set(at, static_cast<float>(tensor->Get(at)) * factor); });
}

// BF16 would round the greatest FP32 numbers to Inf.
TEST_P(PartsTest, TheGreatestNumbersStayFinite) {
  for (Tensor Case::*operand : {&Case::weight, &Case::output, &Case::input}) {
    Case c = SmallCase(GetParam().small);
    for (Tensor* tensor : {&c.weight, &c.output, &c.input}) Scale(tensor, 1e-3f);
    (c.*operand).Set({0, 0, 0, 0, 0}, std::numeric_limits<float>::max());
    ExpectFormula(&c, "the greatest number");
  }
}

// Where all numbers of an operand are tiny, their last parts would vanish; beside others that does not matter. What
// gradients multiply them by is large, so that results are no tiny numbers themselves. Below 1e-33 some count as 0
// everywhere.
TEST_P(PartsTest, TinyNumbersKeepTheirDigits) {
  for (const bool of_output : {false, true}) {
    for (const float factor : {1e-26f, 1e-29f, 1e-31f, 1e-33f}) {
      Case c = SmallCase(GetParam().small);
      for (Tensor* tensor : {&c.weight, &c.output, &c.input}) {
        const bool tiny = (tensor == &c.output) == of_output;
        Scale(tensor, tiny ? factor : 1e30f);
      }
      const std::string trace = "times " + std::to_string(std::log10(factor));
      ExpectFormula(&c, trace, kForward);
      (of_output ? c.output : c.weight).Set({0, 0, 0, 0, 0}, 1);
      ExpectFormula(&c, "beside 1, " + trace, kForward);
    }
  }
}

TEST_P(PartsTest, ZerosGiveZeros) {
  Case c = SmallCase(GetParam().small);
  for (Tensor* tensor : {&c.output, &c.input}) Scale(tensor, 0);
  for (const Computation computation : GetParam().computations) {
    EXPECT_EQ(RunAlgorithm(&c, name(), computation), computation);
    const Tensor& result = computation == kForward        ? c.output_result
                           : computation == kBackwardData ? c.input_result
                                                          : c.weight_result;
    ForEach(result.dims, [&](const std::array<int64_t, 5>& at) { EXPECT_EQ(result.Get(at), 0); });
  }
}

INSTANTIATE_TEST_SUITE_P(
    Algorithms, PartsTest,
    testing::Values(
        PartsAlgorithm{
            "split_gemm", {kForward, kBackwardData, kBackwardWeights}, 1e-6, &DrawGeometry, Points(40, 33, 50)},
        PartsAlgorithm{"split_winograd", {kForward, kBackwardData}, 3e-6, &DrawTilesWithoutStride, Squares(40, 33, 10)},
        PartsAlgorithm{
            "split_winograd", {kForward, kBackwardData, kBackwardWeights}, 3e-6, &DrawLines, Line(40, 33, 50)}),
    [](const auto& info) { return info.param.name + std::string(info.param.draw == &DrawLines ? "_lines" : ""); });

// Several blocks of rows and lanes, sums of several levels, weights packed once, and stretches of pixels.
TEST(SplitGemmTest, ManyChannelsAndPixels) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  const std::array<int64_t, 3> sizes[] = {{300, 290, 70}, {40, 4200, 33}, {2500, 17, 9}, {33, 40, 9000}};
  for (const auto& [inputs, outputs, pixels] : sizes) {
    Case c = SmallCase(Points(inputs, outputs, pixels));
    const std::string trace = std::to_string(inputs) + " to " + std::to_string(outputs);
    for (const Computation computation : {kBackwardData, kBackwardWeights}) {
      EXPECT_EQ(RunAlgorithm(&c, "split_gemm", computation), computation) << trace;
    }
    const Sums expected = Expected(c);
    ExpectNear("backward data", c.input_result, expected.input, 1e-6, trace);
    ExpectNear("backward weights", c.weight_result, expected.weight, 1e-6, trace);
  }
}

TEST(SplitGemmTest, LeavesTypesThatPartsAreNoHelpFor) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  Draw draw(1);
  Case c = PlainCase(DrawGeometry(&draw), 1, DType::kBFloat16, &draw);
  EXPECT_EQ(RunAlgorithm(&c, "split_gemm", kBackwardData), 0);
}

// Of tiles under strides; how many of those seeds it serves.
int ExpectFormulaUnderStrides(Computation computation, uint32_t first_seed, uint32_t end_seed) {
  int served = 0;
  for (uint32_t seed = first_seed; seed < end_seed && !testing::Test::HasFailure(); ++seed) {
    Draw draw(seed);
    Case c = SmallCase(DrawTiles(&draw, 3));
    if (!RunIfServed(&c, "split_winograd", computation)) continue;
    ++served;
    const Sums expected = Expected(c);
    const bool forward = computation == kForward;
    ExpectNear(forward ? "forward" : "backward weights", forward ? c.output_result : c.weight_result,
               forward ? expected.output : expected.weight, 3e-6, "seed " + std::to_string(seed));
  }
  return served;
}

// What each residue of a stride leaves of a kernel is a term, and some residues have fewer offsets than others.
TEST(SplitWinogradTest, ForwardUnderAStride) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  EXPECT_GT(ExpectFormulaUnderStrides(kForward, 600, 640), 20);
}

TEST(SplitWinogradTest, WeightsUnderAStride) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  EXPECT_GT(ExpectFormulaUnderStrides(kBackwardWeights, 700, 900), 20);
}

// Several blocks of channels and chunks of tiles, sums of several levels and in segments.
TEST(SplitWinogradTest, WeightsOfManyChannelsAndTiles) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  const std::array<int64_t, 3> sizes[] = {{300, 290, 70}, {40, 33, 9000}, {33, 300, 1500}, {600, 32, 400}};
  for (const auto& [inputs, outputs, pixels] : sizes) {
    Case c = SmallCase(Line(inputs, outputs, pixels));
    const std::string trace = std::to_string(inputs) + " to " + std::to_string(outputs);
    EXPECT_EQ(RunAlgorithm(&c, "split_winograd", kBackwardWeights), kBackwardWeights) << trace;
    ExpectNear("backward weights", c.weight_result, Expected(c).weight, 3e-6, trace);
  }
}

// More transformed kernels than the workspace has room for, of one group and of several.
TEST(SplitWinogradTest, TakesKernelsInPieces) {
  if (None()) GTEST_SKIP() << "the processor has no matrix unit";
  for (const int64_t groups : {1, 5}) {
    Geometry g = Squares(320 * groups, 352 * groups, 9);
    g.groups = groups;
    Case c = SmallCase(g);
    const Sums expected = Expected(c);
    EXPECT_EQ(RunAlgorithm(&c, "split_winograd", kForward), kForward);
    // Sums of 3,168 products: the bound that docs/accuracy.md has for fast algorithms.
    ExpectNear("forward", c.output_result, expected.output, 3e-6, std::to_string(groups));
    EXPECT_EQ(RunAlgorithm(&c, "split_winograd", kBackwardData), kBackwardData);
    ExpectNear("backward data", c.input_result, expected.input, 3e-6, std::to_string(groups));
  }
}

}  // namespace
}  // namespace canopy::conv
