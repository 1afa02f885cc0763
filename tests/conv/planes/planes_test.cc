// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: one channel a group and pixels side by side, with planes around the
// widths of vectors, kernels that need several passes, and several images in a sheet.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "conv/conv.h"
#include "conv/plan.h"
#include "kernels/dispatch.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Geometry DrawPlanes(Draw* draw) {
  Geometry g;
  const int64_t sizes[] = {1, 2, 5, 7, 8, 13, 14, 15, 16, 17, 28, 31, 33, 56};
  g.batch = (*draw)(1, 5);
  g.groups = g.input_channels = g.output_channels = (*draw)(1, 5);
  const bool large = (*draw)(0, 7) == 0;
  const int64_t stride = (*draw)(1, 2);
  g.output_size[0] = g.input_size[0] = (*draw)(0, 5) == 0 ? 2 : 1;
  for (int a = 1; a < 3; ++a) {
    g.kernel[a] = large ? (*draw)(8, 33) : (*draw)(1, 7);
    g.stride[a] = stride;
    g.pad_begin[a] = (*draw)(0, 4) == 0 ? (*draw)(0, g.kernel[a] + 1) : g.kernel[a] / 2;
    const int64_t least = std::max<int64_t>(1, g.kernel[a] - 2 * g.pad_begin[a]);
    g.input_size[a] = std::max(least, sizes[(*draw)(0, 13)]);
    g.output_size[a] = (g.input_size[a] + 2 * g.pad_begin[a] - g.kernel[a]) / stride + 1;
  }
  return g;
}

Case PlanesCase(uint32_t seed, DType type) {
  Draw draw(seed);
  Case c;
  const Geometry g = c.problem.geometry = DrawPlanes(&draw);
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype) {
    Tensor tensor = MakeTensor(dims, dtype, {0, 1, 2, 3, 4}, draw(0, 2) == 0 ? draw(1, 3) : 0);
    FillRandom(&tensor, true, draw.engine());
    return tensor;
  };
  const std::array<int64_t, 5> input = {g.batch, g.groups, g.input_size[0], g.input_size[1], g.input_size[2]};
  const std::array<int64_t, 5> output = {g.batch, g.groups, g.output_size[0], g.output_size[1], g.output_size[2]};
  const std::array<int64_t, 5> weight = {g.groups, 1, 1, g.kernel[1], g.kernel[2]};
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
bool RunPlanes(Case* c, Computation computation) {
  c->problem.computations = computation;
  const std::unique_ptr<Plan> plan = BuildPlan(c->problem, "planes");
  std::vector<char> workspace(static_cast<size_t>(plan->ledger.total_bytes()) + 65, char{0x77});
  Run(*plan, c->buffers(), workspace.data() + 1, false);
  for (size_t i = workspace.size() - 64; i < workspace.size(); ++i) EXPECT_EQ(workspace[i], char{0x77});
  return plan->steps[0].algorithm->name == std::string("planes");
}

class PlanesAlgorithmTest : public testing::TestWithParam<int64_t> {};

TEST_P(PlanesAlgorithmTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  int served[3] = {};
  for (uint32_t seed = 0; seed < 250; ++seed) {
    Case c = PlanesCase(seed, seed % 4 == 0 ? DType::kBFloat16 : DType::kFloat32);
    served[0] += RunPlanes(&c, kForward);
    served[1] += RunPlanes(&c, kBackwardData);
    served[2] += RunPlanes(&c, kBackwardWeights);
    const Sums expected = Expected(c);
    const std::string trace = "seed " + std::to_string(seed);
    ExpectNear("forward", c.output_result, expected.output, 0, trace);
    // BF16 holds whole numbers up to 256.
    ExpectNear("backward data", c.input_result, expected.input,
               c.problem.input_result.dtype == DType::kFloat32 ? 0 : 4e-3, trace);
    ExpectNear("backward weights", c.weight_result, expected.weight, 0, trace);
    if (HasFailure()) return;
  }
  EXPECT_GT(served[0], 80);
  EXPECT_GT(served[1], 80);
  EXPECT_GT(served[2], 200);
}

TEST_P(PlanesAlgorithmTest, KeepsPaddingAbsentBesideWhatIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Case c = PlanesCase(seed, DType::kFloat32);
    Tensor* infinite = seed % 3 == 0 ? &c.weight : seed % 3 == 1 ? &c.output : &c.input;
    numerics::StoreElement(infinite->bytes.data(), DType::kFloat32, INFINITY, false);
    RunPlanes(&c, kBackwardData);
    RunPlanes(&c, kBackwardWeights);
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

INSTANTIATE_TEST_SUITE_P(Targets, PlanesAlgorithmTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
