// SPDX-License-Identifier: Apache-2.0
// Every algorithm of the list, on every problem it accepts, against the formula that heads conv/problem.h in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "conv/algorithm.h"
#include "conv/conv.h"
#include "conv/plan.h"
#include "kernels/dispatch.h"
#include "numerics/rounding.h"

namespace canopy::conv {
namespace {

using numerics::DType;

struct Tensor {
  std::array<int64_t, 5> dims{};
  Operand operand;
  std::vector<char> bytes;

  int64_t count() const { return dims[0] * dims[1] * dims[2] * dims[3] * dims[4]; }
  int64_t Offset(const std::array<int64_t, 5>& at) const {
    int64_t offset = 0;
    for (int i = 0; i < 5; ++i) offset += at[i] * operand.strides[i];
    return offset * numerics::ElementBytes(operand.dtype);
  }
  void Set(const std::array<int64_t, 5>& at, float value) {
    numerics::StoreElement(bytes.data() + Offset(at), operand.dtype, value, true);
  }
  double Get(const std::array<int64_t, 5>& at) const {
    return numerics::LoadElement(bytes.data() + Offset(at), operand.dtype);
  }
};

// Dense in the order of `permutation` (outermost first), with `gap` unused elements behind every innermost row.
Tensor MakeTensor(std::array<int64_t, 5> dims, DType dtype, const std::array<int, 5>& permutation, int64_t gap) {
  Tensor tensor;
  tensor.dims = dims;
  tensor.operand.dtype = dtype;
  int64_t stride = 1;
  for (int i = 4; i >= 0; --i) {
    tensor.operand.strides[permutation[i]] = stride;
    stride *= dims[permutation[i]];
    if (i == 4) stride += gap;
  }
  tensor.bytes.assign(static_cast<size_t>((stride + gap) * numerics::ElementBytes(dtype)), char{0x55});
  return tensor;
}

void FillRandom(Tensor* tensor, bool integers, std::mt19937* random) {
  std::uniform_real_distribution<float> real(-1, 1);
  std::uniform_int_distribution<int> whole(-4, 4);
  const int64_t bytes = numerics::ElementBytes(tensor->operand.dtype);
  for (size_t at = 0; at + bytes <= tensor->bytes.size(); at += bytes) {
    const float value = integers ? static_cast<float>(whole(*random)) : real(*random);
    numerics::StoreElement(tensor->bytes.data() + at, tensor->operand.dtype, value, false);
  }
}

struct Case {
  ConvProblem problem;
  Tensor input, weight, output, bias, input_result, weight_result, output_result, bias_result;

  Buffers buffers() {
    return {input.bytes.data(),         weight.bytes.data(),       output.bytes.data(),
            bias.bytes.data(),          input_result.bytes.data(), weight_result.bytes.data(),
            output_result.bytes.data(), bias_result.bytes.data()};
  }
};

template <class F>
void ForEach(const std::array<int64_t, 5>& dims, const F& visit) {
  std::array<int64_t, 5> at{};
  for (at[0] = 0; at[0] < dims[0]; ++at[0])
    for (at[1] = 0; at[1] < dims[1]; ++at[1])
      for (at[2] = 0; at[2] < dims[2]; ++at[2])
        for (at[3] = 0; at[3] < dims[3]; ++at[3])
          for (at[4] = 0; at[4] < dims[4]; ++at[4]) visit(at);
}

struct Sums {
  std::vector<double> input, weight, output, bias;
};

// Visits every (n, co, o, c, kk) of the formula whose input position exists.
Sums Expected(const Case& c) {
  const Geometry& g = c.problem.geometry;
  Sums sums;
  sums.input.assign(c.input.count(), 0);
  sums.weight.assign(c.weight.count(), 0);
  sums.output.assign(c.output.count(), 0);
  const auto flat = [](const std::array<int64_t, 5>& at, const std::array<int64_t, 5>& dims) {
    int64_t index = 0;
    for (int i = 0; i < 5; ++i) index = index * dims[i] + at[i];
    return index;
  };
  const auto rounded = [&](double value) {
    return numerics::RoundInput(static_cast<float>(value), c.problem.rule.input_rounding, false);
  };
  ForEach(c.output.dims, [&](const std::array<int64_t, 5>& out) {
    ForEach({1, g.group_input_channels(), g.kernel[0], g.kernel[1], g.kernel[2]}, [&](std::array<int64_t, 5> w) {
      w[0] = out[1];
      const int64_t group = out[1] / g.group_output_channels();
      std::array<int64_t, 5> in = {out[0], group * g.group_input_channels() + w[1], 0, 0, 0};
      for (int a = 0; a < 3; ++a) {
        in[2 + a] = out[2 + a] * g.stride[a] - g.pad_begin[a] + w[2 + a] * g.dilation[a];
        if (in[2 + a] < 0 || in[2 + a] >= g.input_size[a]) return;
      }
      const double x = rounded(c.input.Get(in)), k = rounded(c.weight.Get(w)), y = rounded(c.output.Get(out));
      sums.output[flat(out, c.output.dims)] += x * k;
      sums.input[flat(in, c.input.dims)] += y * k;
      sums.weight[flat(w, c.weight.dims)] += y * x;
    });
  });
  return sums;
}

void ExpectNear(const char* what, const Tensor& actual, const std::vector<double>& expected, double tolerance,
                const std::string& trace) {
  double error = 0, norm = 0;
  size_t i = 0;
  ForEach(actual.dims, [&](const std::array<int64_t, 5>& at) {
    const double difference = actual.Get(at) - expected[i];
    error += difference * difference;
    norm += expected[i] * expected[i];
    ++i;
  });
  EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(norm) + 1e-30) << what << ": " << trace;
}

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int64_t operator()(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  std::mt19937* engine() { return &random_; }

 private:
  std::mt19937 random_;
};

// One channel a group, or few: with fewer groups than a vector has lanes, as many, and more.
void DrawDepthwise(Draw* draw, Geometry* g) {
  const int64_t groups[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 20, 33};
  g->groups = groups[(*draw)(0, 11)];
  const bool several = (*draw)(0, 2) == 0;
  g->input_channels = g->groups * (several ? (*draw)(1, 3) : 1);
  g->output_channels = g->groups * (several ? (*draw)(1, 3) : 1);
}

// What the fast algorithms serve, which random geometries hardly meet: one or more tiles an axis, with and without
// rests, padding up to whole tiles of it, and now and then more source channels than one tile product has terms.
void DrawFast(Draw* draw, Geometry* g) {
  const int64_t channels[] = {16, 17, 24, 31, 33, 48, 66};
  g->batch = (*draw)(1, 3);
  g->groups = (*draw)(0, 2) == 0 ? 2 : 1;
  g->input_channels = g->groups * ((*draw)(0, 9) == 0 ? 130 : channels[(*draw)(0, 6)]);
  g->output_channels = g->groups * ((*draw)(0, 9) == 0 ? 130 : channels[(*draw)(0, 6)]);
  g->kernel = {(*draw)(0, 2) == 0 ? (*draw)(2, 4) : 1, 3, 3};
  g->output_size = {(*draw)(1, 3), (*draw)(1, 10), (*draw)(1, 14)};
  for (int a = 0; a < 3; ++a) {
    g->pad_begin[a] = (*draw)(0, 5) == 0 ? (*draw)(3, 7) : (*draw)(0, 2);
    g->input_size[a] = std::max<int64_t>(1, g->output_size[a] + g->kernel[a] - 1 - g->pad_begin[a] - (*draw)(0, 2));
  }
}

// What the others serve. Returns whether planes lie without gaps, to be multiplied as they are.
bool DrawAny(Draw* draw, Geometry* g) {
  const int64_t channels[] = {1, 2, 3, 4, 5, 8, 11, 12, 13, 16, 17, 24, 33};
  g->batch = (*draw)(1, 3);
  g->groups = (*draw)(0, 3) == 0 ? (*draw)(2, 4) : 1;
  g->input_channels = g->groups * channels[(*draw)(0, 12)];
  g->output_channels = g->groups * channels[(*draw)(0, 12)];
  const bool depthwise = (*draw)(0, 2) == 0;
  if (depthwise) DrawDepthwise(draw, g);
  const bool pointwise = !depthwise && (*draw)(0, 3) == 0;
  const int axes = static_cast<int>((*draw)(1, 3));
  for (int a = 0; a < 3; ++a) {
    const bool used = a >= 3 - axes;
    g->kernel[a] = used && !pointwise ? (*draw)(1, axes == 3 ? 3 : depthwise ? 9 : 4) : 1;
    g->stride[a] = used && !pointwise ? (*draw)(1, 3) : 1;
    g->dilation[a] = used ? (*draw)(1, depthwise ? 3 : 2) : 1;
    g->output_size[a] = used ? (*draw)(1, axes == 3 ? 4 : axes == 2 ? 9 : 40) : 1;
    g->pad_begin[a] = used && !pointwise ? (*draw)(0, 3) : 0;
    const int64_t reach = (g->output_size[a] - 1) * g->stride[a] + (g->kernel[a] - 1) * g->dilation[a] + 1;
    const int64_t pad_end = used && !pointwise ? (*draw)(0, 2) : 0;
    const int64_t unused = used ? (*draw)(0, g->stride[a] - 1) : 0;  // the floor's remainder
    g->input_size[a] = std::max<int64_t>(1, reach - g->pad_begin[a] - pad_end + unused);
  }
  return pointwise;
}

// Small enough for the formula, with every extent around the tiles' and vectors' sizes at some time.
Case RandomCase(uint32_t seed, bool integers, bool fast) {
  Draw draw(seed);
  Case c;
  Geometry& g = c.problem.geometry;
  bool pointwise = false;
  if (fast) {
    DrawFast(&draw, &g);
  } else {
    pointwise = DrawAny(&draw, &g);
  }
  const DType dtypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat16, DType::kBFloat16};
  const std::array<int, 5> orders[] = {
      {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {0, 2, 3, 4, 1}, {4, 3, 2, 0, 1}, {1, 0, 4, 3, 2}};
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype) {
    const int64_t order = draw(0, 4), gap = draw(0, 2) == 0 ? draw(1, 5) : 0;
    Tensor tensor = MakeTensor(dims, dtype, orders[pointwise ? 0 : order], pointwise ? 0 : gap);
    FillRandom(&tensor, integers, draw.engine());
    return tensor;
  };
  const std::array<int64_t, 5> input = {g.batch, g.input_channels, g.input_size[0], g.input_size[1], g.input_size[2]};
  const std::array<int64_t, 5> output = {g.batch, g.output_channels, g.output_size[0], g.output_size[1],
                                         g.output_size[2]};
  const std::array<int64_t, 5> weight = {g.output_channels, g.group_input_channels(), g.kernel[0], g.kernel[1],
                                         g.kernel[2]};
  c.input = make(input, dtypes[draw(0, 3)]);
  c.weight = make(weight, dtypes[draw(0, 3)]);
  c.output = make(output, dtypes[draw(0, 3)]);
  c.input_result = make(input, DType::kFloat32);
  c.weight_result = make(weight, DType::kFloat32);
  c.output_result = make(output, DType::kFloat32);
  c.bias = make({1, g.output_channels, 1, 1, 1}, DType::kFloat32);
  c.bias_result = make({1, g.output_channels, 1, 1, 1}, DType::kFloat32);
  c.problem.rule.input_rounding =
      draw(0, 2) == 0 ? numerics::InputRounding::kHfloat32x11 : numerics::InputRounding::kNone;
  c.problem.input = c.input.operand;
  c.problem.weight = c.weight.operand;
  c.problem.output = c.output.operand;
  c.problem.bias = c.bias.operand;
  c.problem.input_result = c.input_result.operand;
  c.problem.weight_result = c.weight_result.operand;
  c.problem.output_result = c.output_result.operand;
  c.problem.bias_result = c.bias_result.operand;
  return c;
}

void RunOnly(Case* c, const char* algorithm, uint8_t computations, bool saturate = false) {
  c->problem.computations = computations;
  const std::unique_ptr<Plan> plan = BuildPlan(c->problem, algorithm);
  // An odd address, a canary behind: the workspace may have any alignment and is used no further than reported.
  std::vector<char> workspace(static_cast<size_t>(plan->ledger.total_bytes()) + 65, char{0x77});
  Run(*plan, c->buffers(), workspace.data() + 1, saturate);
  for (size_t i = workspace.size() - 64; i < workspace.size(); ++i) ASSERT_EQ(workspace[i], char{0x77}) << algorithm;
}

class AlgorithmsTest : public testing::TestWithParam<int> {};

void ExpectFormula(const Algorithm& algorithm, uint32_t seed, const std::string& trace) {
  const char* name = algorithm.name;
  const bool integers = seed % 2 == 0;
  Case c = RandomCase(seed, integers, algorithm.fast);
  RunOnly(&c, name, kForward);
  RunOnly(&c, name, kBackwardData | kBackwardWeights | kBiasFromOutput);
  if (testing::Test::HasFatalFailure()) return;
  const Sums expected = Expected(c);
  // Small integers make every sum exact; else FP32 sums of at most 3,600 terms.
  // Fast algorithms multiply numbers that are not whole: their own bound holds for both.
  const double tolerance = algorithm.fast ? 3e-6 : integers ? 0 : 1e-6;
  ExpectNear("forward", c.output_result, expected.output, tolerance, trace);
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
}

TEST_P(AlgorithmsTest, MatchTheFormulaOnRandomProblems) {
  const Algorithm& algorithm = kAlgorithms[GetParam()];
  const char* name = algorithm.name;
  const uint32_t count = algorithm.fast ? 80 : 400;  // of many more channels
  for (uint32_t seed = 0; seed < count; ++seed) {
    ExpectFormula(algorithm, seed, std::string(name) + ", seed " + std::to_string(seed));
    if (HasFailure()) return;
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

// The class of a number, as far as the sums fix it: finite, +Inf, -Inf or NaN.
std::string Class(double value) {
  return std::isnan(value) ? "nan" : std::isinf(value) ? (value > 0 ? "inf" : "-inf") : "finite";
}

void ExpectSameClasses(const Tensor& actual, const std::vector<double>& expected, const std::string& trace) {
  size_t i = 0;
  ForEach(actual.dims, [&](const std::array<int64_t, 5>& at) {
    EXPECT_EQ(Class(actual.Get(at)), Class(expected[i])) << trace << ", element " << i;
    ++i;
  });
}

// A product of a packed zero and Inf is NaN; a padded tap is no product at all.
TEST_P(AlgorithmsTest, KeepPaddingAbsentWhenTheOtherSideIsNotFinite) {
  const char* name = kAlgorithms[GetParam()].name;
  for (uint32_t seed = 0; seed < 90; ++seed) {
    Case c = RandomCase(seed, true, kAlgorithms[GetParam()].fast);
    const auto set_infinite = [](Tensor* tensor) {
      numerics::StoreElement(tensor->bytes.data(), tensor->operand.dtype, INFINITY, false);
    };
    set_infinite(seed % 3 == 0 ? &c.weight : seed % 3 == 1 ? &c.output : &c.input);
    RunOnly(&c, name, kForward);
    RunOnly(&c, name, kBackwardData | kBackwardWeights);
    const Sums expected = Expected(c);
    const std::string trace = std::string(name) + ", seed " + std::to_string(seed);
    ExpectSameClasses(c.output_result, expected.output, trace + " forward");
    ExpectSameClasses(c.input_result, expected.input, trace + " backward data");
    ExpectSameClasses(c.weight_result, expected.weight, trace + " backward weights");
    if (HasFailure()) return;
  }
}

// A plan does not know how the stream that it will run on overflows.
TEST_P(AlgorithmsTest, SaturateWhereTheRunDemandsIt) {
  const char* name = kAlgorithms[GetParam()].name;
  for (uint32_t seed = 0; seed < 90; ++seed) {
    Case c = RandomCase(seed, true, kAlgorithms[GetParam()].fast);
    // Sums beyond the range, from numbers that fast algorithms take as they are; now and then from one that they don't.
    ForEach(c.output.dims, [&](const auto& at) { c.output.Set(at, std::numeric_limits<float>::max()); });
    if (seed % 3 == 0) numerics::StoreElement(c.output.bytes.data(), c.output.operand.dtype, INFINITY, false);
    RunOnly(&c, name, kBackwardData | kBackwardWeights | kBiasFromOutput, /*saturate=*/true);
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
