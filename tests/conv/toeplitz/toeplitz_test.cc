// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: kernels that reach over whole rows of one channel a group, on planes
// up to the width of a vector, and so many images that weight gradients take two levels of sums.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "conv/conv.h"
#include "conv/plan.h"
#include "kernels/dispatch.h"
#include "kernels/toeplitz/contract.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Geometry DrawWide(Draw* draw) {
  Geometry g;
  g.batch = (*draw)(0, 5) == 0 ? 40 : (*draw)(1, 5);
  g.groups = g.input_channels = g.output_channels = (*draw)(1, 5);
  g.output_size[0] = g.input_size[0] = (*draw)(0, 5) == 0 ? 2 : 1;
  for (int a = 1; a < 3; ++a) {
    g.input_size[a] = (*draw)(1, a == 2 ? 2 + 14 / (*draw)(1, 8) : 16);
    g.output_size[a] = (*draw)(0, 2) == 0 ? (*draw)(1, g.input_size[a]) : g.input_size[a];
    g.pad_begin[a] = g.output_size[a] - 1 + (*draw)(0, 2);
    g.kernel[a] = g.input_size[a] + g.pad_begin[a] + (*draw)(0, 2);
    if (a == 1 && (*draw)(0, 1) == 0) g.kernel[a] = (*draw)(1, 5), g.pad_begin[a] = g.kernel[a] / 2;
  }
  return g;
}

Case WideCase(uint32_t seed, DType type) {
  Draw draw(seed);
  Case c;
  const Geometry g = c.problem.geometry = DrawWide(&draw);
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype) {
    Tensor tensor = MakeTensor(dims, dtype, {0, 1, 2, 3, 4}, draw(0, 2) == 0 ? draw(1, 3) : 0);
    FillRandom(&tensor, true, draw.engine());
    return tensor;
  };
  const std::array<int64_t, 5> input = {g.batch, g.input_channels, g.input_size[0], g.input_size[1], g.input_size[2]};
  const std::array<int64_t, 5> output = {g.batch, g.output_channels, g.output_size[0], g.output_size[1],
                                         g.output_size[2]};
  const std::array<int64_t, 5> weight = {g.output_channels, g.group_input_channels(), 1, g.kernel[1], g.kernel[2]};
  c.input = make(input, type);
  c.weight = make(weight, type);
  c.output = make(output, type);
  c.input_result = make(input, seed % 3 == 0 ? type : DType::kFloat32);
  c.weight_result = make(weight, DType::kFloat32);
  c.output_result = make(output, DType::kFloat32);
  c.problem.input = c.input.operand;
  c.problem.weight = c.weight.operand;
  c.problem.output = c.output.operand;
  c.problem.input_result = c.input_result.operand;
  c.problem.weight_result = c.weight_result.operand;
  c.problem.output_result = c.output_result.operand;
  return c;
}

// Whether the algorithm itself ran.
bool RunToeplitz(Case* c, Computation computation) {
  c->problem.computations = computation;
  const std::unique_ptr<Plan> plan = BuildPlan(c->problem, "toeplitz");
  std::vector<char> workspace(static_cast<size_t>(plan->ledger.total_bytes()) + 65, char{0x77});
  Run(*plan, c->buffers(), workspace.data() + 1, false);
  for (size_t i = workspace.size() - 64; i < workspace.size(); ++i) EXPECT_EQ(workspace[i], char{0x77});
  return plan->steps[0].algorithm->name == std::string("toeplitz");
}

class ToeplitzAlgorithmTest : public testing::TestWithParam<int64_t> {};

TEST_P(ToeplitzAlgorithmTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  int served[3] = {};
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Case c = WideCase(seed, seed % 4 == 0 ? DType::kBFloat16 : DType::kFloat32);
    served[0] += RunToeplitz(&c, kForward);
    served[1] += RunToeplitz(&c, kBackwardData);
    served[2] += RunToeplitz(&c, kBackwardWeights);
    const Sums expected = Expected(c);
    const std::string trace = "seed " + std::to_string(seed);
    ExpectNear("forward", c.output_result, expected.output, 0, trace);
    // BF16 holds whole numbers up to 256.
    ExpectNear("backward data", c.input_result, expected.input,
               c.problem.input_result.dtype == DType::kFloat32 ? 0 : 4e-3, trace);
    ExpectNear("backward weights", c.weight_result, expected.weight, 0, trace);
    if (HasFailure()) return;
  }
  for (const int count : served) EXPECT_GT(count, kernels::Toeplitz().lanes >= 8 ? 80 : 20);
}

TEST_P(ToeplitzAlgorithmTest, KeepsPaddingAbsentBesideWhatIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Case c = WideCase(seed, DType::kFloat32);
    Tensor* infinite = seed % 3 == 0 ? &c.weight : seed % 3 == 1 ? &c.output : &c.input;
    numerics::StoreElement(infinite->bytes.data(), DType::kFloat32, INFINITY, false);
    RunToeplitz(&c, kBackwardData);
    RunToeplitz(&c, kBackwardWeights);
    const Sums expected = Expected(c);
    const auto compare = [&](const Tensor& actual, const std::vector<double>& sums) {
      size_t i = 0;
      ForEach(actual.dims, [&](const std::array<int64_t, 5>& at) {
        const double a = actual.Get(at), e = sums[i++];
        EXPECT_TRUE(std::isnan(e) ? std::isnan(a) : std::isinf(e) ? a == e : std::isfinite(a)) << a << " " << e;
      });
    };
    SCOPED_TRACE("seed " + std::to_string(seed));
    compare(c.input_result, expected.input);
    compare(c.weight_result, expected.weight);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ToeplitzAlgorithmTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
