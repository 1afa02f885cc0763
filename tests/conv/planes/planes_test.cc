// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: see planes_case.h.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/planes_case.h"

namespace canopy::conv {
namespace {

class PlanesAlgorithmTest : public testing::TestWithParam<int64_t> {};

TEST_P(PlanesAlgorithmTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  std::array<int, 3> served{};
  for (uint32_t seed = 0; seed < 250; ++seed) {
    Case c = PlanesCase(seed, seed % 4 == 0 ? DType::kBFloat16 : DType::kFloat32);
    ExpectExactSums(&c, "planes", "seed " + std::to_string(seed), &served);
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
    MakeOneInfinite(&c, seed);
    ExpectPaddingAbsent(&c, "planes", "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PlanesAlgorithmTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
