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
