// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: kernels that reach over whole rows of one channel a group, on planes
// up to the width of a vector, and so many images that weight gradients take two levels of sums.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "kernels/dispatch.h"
#include "kernels/toeplitz/contract.h"
#include "tests/conv/algorithm_run.h"
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
  return PlainCase(DrawWide(&draw), seed, type, &draw);
}

class ToeplitzAlgorithmTest : public testing::TestWithParam<int64_t> {};

TEST_P(ToeplitzAlgorithmTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  std::array<int, 3> served{};
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Case c = WideCase(seed, seed % 4 == 0 ? DType::kBFloat16 : DType::kFloat32);
    ExpectExactSums(&c, "toeplitz", "seed " + std::to_string(seed), &served);
    if (HasFailure()) return;
  }
  for (const int count : served) EXPECT_GT(count, kernels::Toeplitz().lanes >= 8 ? 80 : 20);
}

TEST_P(ToeplitzAlgorithmTest, KeepsPaddingAbsentBesideWhatIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Case c = WideCase(seed, DType::kFloat32);
    MakeOneInfinite(&c, seed);
    ExpectPaddingAbsent(&c, "toeplitz", "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ToeplitzAlgorithmTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
