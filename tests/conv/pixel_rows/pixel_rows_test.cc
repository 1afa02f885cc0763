// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: phases of larger strides and kernels, rows of several vectors, bands
// of several rows of each phase, more output channels than one call has, phases without offsets or without results.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "exec/pool.h"
#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Geometry DrawFewInputs(Draw* draw) {
  const int64_t inputs[] = {1, 2, 3, 3, 4, 6}, outputs[] = {1, 2, 7, 33, 70};
  Geometry g;
  g.batch = (*draw)(1, 2);
  g.groups = (*draw)(0, 4) == 0 ? 2 : 1;
  g.input_channels = g.groups * inputs[(*draw)(0, 5)];
  g.output_channels = g.groups * outputs[(*draw)(0, 4)];
  const bool deep = (*draw)(0, 2) == 0;
  g.input_size = g.output_size = {1, 1, 1};
  for (int a = 0; a < 3; ++a) {
    if (a == 0 && !deep) continue;
    g.kernel[a] = (*draw)(1, a == 0 ? 3 : 7);
    g.stride[a] = (*draw)(1, 4);
    if (a == 0) g.dilation[a] = (*draw)(1, 2);
    const int64_t reach = (g.kernel[a] - 1) * g.dilation[a];
    g.pad_begin[a] = (*draw)(0, 4) == 0 ? reach + (*draw)(0, 3) : (*draw)(0, reach);
    g.output_size[a] = (*draw)(1, a == 0 ? 3 : a == 1 ? 18 : 40);
    const int64_t covered = (g.output_size[a] - 1) * g.stride[a] + reach + 1 - g.pad_begin[a];
    // Up to positions that no offset reaches, and not to all that are reached.
    g.input_size[a] = std::max<int64_t>(1, covered - (*draw)(0, reach) + (*draw)(0, g.stride[a] - 1));
  }
  return g;
}

Case FewInputsCase(uint32_t seed) {
  Draw draw(seed);
  const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  return PlainCase(DrawFewInputs(&draw), seed, types[seed % 4], &draw);
}

class PixelRowsTest : public testing::TestWithParam<int64_t> {};

TEST_P(PixelRowsTest, GivesExactSumsOfWholeNumbersWhicheverJobComesFirst) {
  const kernels::ScopedTarget scoped(GetParam());
  int strided = 0;
  for (uint32_t seed = 0; seed < 80; ++seed) {
    Case c = FewInputsCase(seed);
    std::optional<exec::ScopedBackwardJobs> backward;
    if (seed % 3 == 0) backward.emplace();
    if (RunAlgorithm(&c, "pixel_rows", kBackwardData) != kBackwardData) continue;
    strided += c.problem.geometry.stride[1] * c.problem.geometry.stride[2] > 1;
    ExpectNear("backward data", c.input_result, Expected(c).input, 0, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(strided, 40);  // more than 16 phases are refused
}

TEST_P(PixelRowsTest, KeepsPaddingAbsentWhenTheOtherSideIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 40; ++seed) {
    Case c = FewInputsCase(seed);
    MakeOneInfinite(&c, seed);
    if (RunAlgorithm(&c, "pixel_rows", kBackwardData) != kBackwardData) continue;
    ExpectSameClasses(c.input_result, Expected(c).input, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PixelRowsTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
