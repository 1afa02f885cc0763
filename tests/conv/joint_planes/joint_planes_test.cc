// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: see planes_case.h.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "conv/conv.h"
#include "conv/plan.h"
#include "kernels/dispatch.h"
#include "tests/conv/planes_case.h"

namespace canopy::conv {
namespace {

constexpr uint8_t kAllGradients = kBackwardData | kBackwardWeights | kBiasFromOutput;

// The computations that the algorithm itself served, together.
uint8_t RunJointly(Case* c, uint8_t computations) {
  c->problem.computations = computations;
  const std::unique_ptr<Plan> plan = BuildPlan(c->problem, "joint_planes");
  std::vector<char> workspace(static_cast<size_t>(plan->ledger.total_bytes()) + 65, char{0x77});
  Run(*plan, c->buffers(), workspace.data() + 1, false);
  for (size_t i = workspace.size() - 64; i < workspace.size(); ++i) EXPECT_EQ(workspace[i], char{0x77});
  const PlannedStep& first = plan->steps[0];
  return first.algorithm->name == std::string("joint_planes") ? first.computations : 0;
}

class JointPlanesAlgorithmTest : public testing::TestWithParam<int64_t> {};

TEST_P(JointPlanesAlgorithmTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  const uint8_t sets[] = {kAllGradients, kBackwardData | kBackwardWeights, kBackwardData, kBackwardWeights};
  int served[4] = {};
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Case c = PlanesCase(seed, seed % 5 == 0 ? DType::kBFloat16 : DType::kFloat32);
    const uint8_t wanted = sets[seed % 4];
    served[seed % 4] += RunJointly(&c, wanted) == wanted;
    const Sums expected = Expected(c);
    const std::string trace = "seed " + std::to_string(seed);
    // BF16 holds whole numbers up to 256.
    const double tolerance = c.problem.input_result.dtype == DType::kFloat32 ? 0 : 4e-3;
    if (wanted & kBackwardData) ExpectNear("backward data", c.input_result, expected.input, tolerance, trace);
    if (wanted & kBackwardWeights) ExpectNear("backward weights", c.weight_result, expected.weight, 0, trace);
    std::vector<double> bias(c.problem.geometry.groups);
    ForEach(c.output.dims, [&](const std::array<int64_t, 5>& at) { bias[at[1]] += c.output.Get(at); });
    if (wanted & kBiasFromOutput) ExpectNear("bias gradient", c.bias_result, bias, 0, trace);
    if (HasFailure()) return;
  }
  for (const int count : served) EXPECT_GT(count, 30);
}

TEST_P(JointPlanesAlgorithmTest, KeepsPaddingAbsentBesideWhatIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 90; ++seed) {
    Case c = PlanesCase(seed, DType::kFloat32);
    Tensor* infinite = seed % 3 == 0 ? &c.weight : seed % 3 == 1 ? &c.output : &c.input;
    numerics::StoreElement(infinite->bytes.data(), DType::kFloat32, INFINITY, false);
    RunJointly(&c, kAllGradients);
    const Sums expected = Expected(c);
    std::vector<double> bias(c.problem.geometry.groups);
    ForEach(c.output.dims, [&](const std::array<int64_t, 5>& at) { bias[at[1]] += c.output.Get(at); });
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
    compare(c.bias_result, bias);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, JointPlanesAlgorithmTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
