// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: several channels a group with pixels side by side, planes of one
// and of several bands, several images in a sheet, and strides whose residues take turns in memory.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "conv/bf16_dot.h"
#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Geometry DrawGroups(Draw* draw) {
  Geometry g;
  const int64_t sizes[] = {1, 2, 5, 7, 8, 14, 15, 16, 17, 28, 33, 56}, channels[] = {1, 2, 3, 4, 5, 8, 9, 16};
  g.batch = (*draw)(1, 5);
  g.groups = (*draw)(1, 4);
  g.input_channels = g.groups * channels[(*draw)(0, 7)];
  g.output_channels = g.groups * channels[(*draw)(0, 7)];
  const int64_t stride = (*draw)(1, 2);
  g.output_size[0] = g.input_size[0] = (*draw)(0, 5) == 0 ? 2 : 1;
  for (int a = 1; a < 3; ++a) {
    g.kernel[a] = (*draw)(1, 4);
    g.stride[a] = stride;
    g.dilation[a] = (*draw)(0, 3) == 0 ? 2 : 1;
    const int64_t reach = (g.kernel[a] - 1) * g.dilation[a] + 1;
    g.pad_begin[a] = (*draw)(0, 4) == 0 ? (*draw)(0, reach + 1) : reach / 2;
    const int64_t least = std::max<int64_t>(1, reach - 2 * g.pad_begin[a]);
    // Large planes are slow to check: seldom both long and wide.
    g.input_size[a] = std::max(least, sizes[(*draw)(0, (*draw)(0, 2) == 0 ? 11 : 5)]);
    g.output_size[a] = (g.input_size[a] + 2 * g.pad_begin[a] - reach) / stride + 1;
  }
  return g;
}

Case GroupsCase(uint32_t seed, DType type) {
  Draw draw(seed);
  return PlainCase(DrawGroups(&draw), seed, type, &draw);
}

class PixelLanesTest : public testing::TestWithParam<int64_t> {};

TEST_P(PixelLanesTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  std::array<int, 3> served{};
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const ScopedBf16Dot dot(seed / 4 % 2 == 0);
    Case c = GroupsCase(seed, seed % 4 == 0 ? DType::kBFloat16 : DType::kFloat32);
    ExpectExactSums(&c, "pixel_lanes", "seed " + std::to_string(seed), &served);
    if (HasFailure()) return;
  }
  EXPECT_GT(served[0], 70);
  EXPECT_GT(served[1], 190);
  EXPECT_GT(served[2], 150);
}

TEST_P(PixelLanesTest, KeepsPaddingAbsentBesideWhatIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 120; ++seed) {
    const ScopedBf16Dot dot(seed / 2 % 2 == 0);
    Case c = GroupsCase(seed, seed % 2 == 0 ? DType::kFloat32 : DType::kBFloat16);
    MakeOneInfinite(&c, seed);
    ExpectPaddingAbsent(&c, "pixel_lanes", "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PixelLanesTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
