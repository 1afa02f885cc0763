// SPDX-License-Identifier: Apache-2.0
// Bias gradients beside the weight gradients of algorithms that many channels go by: of outputs in several bands,
// slices, stretches and blocks, and of transposed problems' inputs under kernels that cover them. What pointwise
// products sum is in pointwise/weights_bias_test.cc.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "exec/pool.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/joint_gradients.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

// `channels` at least of each side of a group.
Geometry DrawGeometry(int64_t channels, bool lines, Draw* draw) {
  Geometry g;
  g.batch = (*draw)(1, 3);
  g.groups = (*draw)(0, 3) == 0 ? 2 : 1;
  const auto draw_channels = [&] {
    return g.groups * (channels + ((*draw)(0, 3) == 0 ? (*draw)(60, 250) : (*draw)(0, 40)));
  };
  g.input_channels = draw_channels();
  g.output_channels = draw_channels();
  g.input_size = g.output_size = {1, 1, 1};
  const int line = static_cast<int>((*draw)(0, 2));
  for (int axis = 0; axis < 3; ++axis) {
    if (lines ? axis != line : axis == 0 && (*draw)(0, 2) > 0) continue;
    g.kernel[axis] = axis == 0 && !lines ? (*draw)(1, 3) : 3;
    g.dilation[axis] = (*draw)(0, 3) == 0 && axis > 0 ? 2 : 1;
    g.pad_begin[axis] = (*draw)(0, 2);
    g.output_size[axis] = (*draw)(1, lines ? 300 : axis == 0 ? 5 : 30);
    const int64_t reach = (g.kernel[axis] - 1) * g.dilation[axis];
    g.input_size[axis] = std::max<int64_t>(1, g.output_size[axis] + reach - g.pad_begin[axis] - (*draw)(0, 2));
  }
  return g;
}

// A transposed problem's: a kernel's offsets share no pixel of the input, which has no other.
Geometry DrawCover(Draw* draw) {
  Geometry g;
  g.batch = (*draw)(1, 3);
  g.groups = (*draw)(0, 3) == 0 ? 2 : 1;
  g.input_channels = g.groups * (*draw)(16, 80);
  g.output_channels = g.groups * ((*draw)(0, 2) == 0 ? (*draw)(200, 400) : (*draw)(16, 80));
  for (int axis = 0; axis < 3; ++axis) {
    g.output_size[axis] = axis == 0 ? (*draw)(1, 2) : (*draw)(1, 19);
    g.kernel[axis] = g.stride[axis] = (*draw)(1, 3);
    g.input_size[axis] = g.output_size[axis] * g.stride[axis];
  }
  return g;
}

Case DrawCase(const Geometry& g, uint32_t seed, int64_t channels, Draw* draw) {
  const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kFloat16};
  Case c = PlainCase(g, seed, types[(*draw)(0, 2)], draw);
  c.bias_result = MakeTensor({1, channels, 1, 1, 1}, DType::kFloat32, {0, 1, 2, 3, 4}, 0);
  c.SetOperands();
  return c;
}

struct Summing {
  const char* name;
  int64_t least_channels;
  bool lines;  // kernels along one axis only
};

class BiasSumsTest : public testing::TestWithParam<Summing> {
 protected:
  void SetUp() override {
    if (ServesNobody(GetParam().name)) GTEST_SKIP() << "the processor has no matrix unit";
  }

  // Both gradients in one pass: exact sums of whole numbers, and the weights that a pass of their own gives. Returns
  // whether the algorithm served both.
  bool ExpectBoth(Case* c, Computation bias, const std::string& trace) const {
    const char* name = GetParam().name;
    const auto both = static_cast<uint8_t>(kBackwardWeights | bias);
    if (RunAlgorithm(c, name, both) != both) return false;
    const Tensor weights = c->weight_result;
    ExpectNear("bias gradient", c->bias_result, SumsOfChannels(bias == kBiasFromInput ? c->input : c->output), 0,
               trace);
    EXPECT_EQ(RunAlgorithm(c, name, kBackwardWeights), kBackwardWeights) << trace;
    EXPECT_EQ(c->weight_result.bytes, weights.bytes) << trace;
    return true;
  }

  // Of 60 problems, more than half of which the algorithm is to serve.
  template <class DrawProblem>
  void ExpectExactSums(Computation bias, const DrawProblem& draw_problem) const {
    int served = 0;
    for (uint32_t seed = 0; seed < 60; ++seed) {
      Draw draw(seed);
      const Geometry g = draw_problem(&draw);
      Case c = DrawCase(g, seed, bias == kBiasFromInput ? g.input_channels : g.output_channels, &draw);
      std::optional<exec::ScopedBackwardJobs> backward;
      if (seed % 4 >= 2) backward.emplace();
      served += ExpectBoth(&c, bias, "seed " + std::to_string(seed)) ? 1 : 0;
      if (HasFailure()) return;
    }
    EXPECT_GT(served, 30);
  }
};

TEST_P(BiasSumsTest, GivesExactSumsOfWholeNumbersInTheOutput) {
  ExpectExactSums(kBiasFromOutput,
                  [](Draw* draw) { return DrawGeometry(GetParam().least_channels, GetParam().lines, draw); });
}

// 65,536 terms of one sign. Adding a number to a sum again and again errs to one side: by up to 256 * 2^-25 of the sum
// where no more than 256 terms meet in an FP32 number, twice.
TEST_P(BiasSumsTest, AddsUpLongSumsInShortParts) {
  for (const bool small_images : {false, true}) {
    Geometry g;
    g.batch = small_images ? 4096 : 16;
    g.input_channels = g.output_channels = 32;
    g.input_size = g.output_size = small_images ? Extent3{1, 1, 16} : Extent3{1, 1, 4096};
    g.kernel[2] = 3;
    g.pad_begin[2] = 1;
    Draw draw(1);
    Case c = PlainCase(g, 1, DType::kFloat32, &draw);
    ForEach(c.output.dims, [&](const std::array<int64_t, 5>& at) { c.output.Set(at, 0.1f); });
    const uint8_t both = kBackwardWeights | kBiasFromOutput;
    ASSERT_EQ(RunAlgorithm(&c, GetParam().name, both), both);
    const double sum = 65536 * c.output.Get({0, 0, 0, 0, 0});
    for (int64_t channel = 0; channel < g.output_channels; ++channel) {
      EXPECT_NEAR(c.bias_result.Get({0, channel, 0, 0, 0}), sum, sum * 2 * 256 / (1 << 25)) << channel;
    }
  }
}

// Sums of what kernel offsets do not meet, or meet twice, are left to others; of rounded numbers where only these are
// read.
TEST_P(BiasSumsTest, RefusesWhatItDoesNotMeetOnce) {
  Draw draw(3);
  Geometry g = DrawCover(&draw);
  g.kernel = g.stride = {1, 1, 3};
  g.pad_begin = {0, 0, 0};
  g.input_size = {g.output_size[0], g.output_size[1], g.output_size[2] * 3};
  const bool covers = std::string(GetParam().name) == "split_gemm";
  const auto served = [&](const Geometry& geometry) {
    Case c = DrawCase(geometry, 2, geometry.input_channels, &draw);
    const uint8_t both = kBackwardWeights | kBiasFromInput;
    return RunAlgorithm(&c, GetParam().name, both) == both;
  };
  EXPECT_EQ(served(g), covers);
  for (const Extent3& stride : {Extent3{1, 1, 1}, Extent3{1, 1, 2}, Extent3{1, 1, 4}}) {
    Geometry other = g;
    other.stride = stride;
    other.input_size[2] = (g.output_size[2] - 1) * stride[2] + 3;
    EXPECT_FALSE(served(other)) << stride[2];
  }
  Geometry padded = g;
  padded.pad_begin[2] = 1;
  EXPECT_FALSE(served(padded));
  Geometry longer = g;
  ++longer.input_size[2];
  EXPECT_FALSE(served(longer));

  Geometry line = DrawGeometry(GetParam().least_channels, true, &draw);
  Case c = PlainCase(line, 2, DType::kFloat32, &draw);
  c.problem.rule.input_rounding = numerics::InputRounding::kHfloat32x11;
  const uint8_t both = kBackwardWeights | kBiasFromOutput;
  EXPECT_EQ(RunAlgorithm(&c, GetParam().name, both), covers ? both : uint8_t{kBackwardWeights});
}

INSTANTIATE_TEST_SUITE_P(All, BiasSumsTest,
                         testing::Values(Summing{"winograd", 16, false}, Summing{"split_winograd", 32, true},
                                         Summing{"split_gemm", 16, false}),
                         [](const auto& info) { return std::string(info.param.name); });

// Every number once, though the kernel meets it under one of its offsets only.
class CoveredInputTest : public BiasSumsTest {};

TEST_P(CoveredInputTest, GivesExactSumsOfWholeNumbers) { ExpectExactSums(kBiasFromInput, DrawCover); }

INSTANTIATE_TEST_SUITE_P(All, CoveredInputTest, testing::Values(Summing{"split_gemm", 16, false}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace canopy::conv
