// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: more channels than a vector has lanes with and without a rest,
// channels-last tensors, bands of planes that are too large for one sheet, and kernels that need several passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "kernels/depth_lanes/contract.h"
#include "kernels/dispatch.h"
#include "kernels/streams.h"
#include "tests/conv/joint_gradients.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Geometry DrawGeometry(Draw* draw) {
  Geometry g;
  const int64_t groups[] = {1, 3, 8, 15, 16, 17, 32, 36}, sizes[] = {1, 2, 5, 7, 8, 14, 15, 17, 33};
  g.batch = (*draw)(1, 3);
  g.groups = g.input_channels = g.output_channels = groups[(*draw)(0, 7)];
  g.output_size[0] = g.input_size[0] = (*draw)(0, 5) == 0 ? 2 : 1;
  const bool large = (*draw)(0, 7) == 0;
  for (int a = 1; a < 3; ++a) {
    g.kernel[a] = large ? (*draw)(8, 16) : (*draw)(1, 7);
    g.stride[a] = (*draw)(0, 2) == 0 ? (*draw)(2, 3) : 1;
    g.pad_begin[a] = (*draw)(0, 4) == 0 ? (*draw)(0, g.kernel[a] + 1) : g.kernel[a] / 2;
    const int64_t least = std::max<int64_t>(1, g.kernel[a] - 2 * g.pad_begin[a]);
    g.input_size[a] = std::max(least, sizes[(*draw)(0, 8)]);
  }
  if ((*draw)(0, 15) == 0) g.input_size[1] = 130;
  for (int a = 1; a < 3; ++a) g.output_size[a] = (g.input_size[a] + 2 * g.pad_begin[a] - g.kernel[a]) / g.stride[a] + 1;
  return g;
}

Case LanesCase(uint32_t seed, DType type) {
  Draw draw(seed);
  const Geometry g = DrawGeometry(&draw);
  const bool last = draw(0, 1) == 0;
  return PlainCase(g, seed, type, &draw, last ? std::array<int, 5>{0, 2, 3, 4, 1} : std::array<int, 5>{0, 1, 2, 3, 4});
}

class DepthLanesAlgorithmTest : public testing::TestWithParam<int64_t> {};

TEST_P(DepthLanesAlgorithmTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  int served[4] = {};
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Case c = LanesCase(seed, seed % 5 == 0 ? DType::kBFloat16 : DType::kFloat32);
    const uint8_t wanted = kJointSets[seed % 4];
    const uint8_t own = RunAlgorithm(&c, "depth_lanes", wanted);
    if (own == 0) continue;
    served[seed % 4] += own == wanted;
    // BF16 holds whole numbers up to 256.
    const double tolerance = c.problem.input_result.dtype == DType::kFloat32 ? 0 : 4e-3;
    ExpectGradients(c, wanted, 0, tolerance, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  for (const int count : served) EXPECT_GT(count, 30);
}

TEST_P(DepthLanesAlgorithmTest, KeepsPaddingAbsentBesideWhatIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 90; ++seed) {
    Case c = LanesCase(seed, DType::kFloat32);
    MakeOneInfinite(&c, seed);
    if (!RunIfServed(&c, "depth_lanes", kAllGradients)) continue;
    ExpectGradientClasses(c, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

// Blocks of channels that are whole lines and those that are not, with and without strides.
TEST_P(DepthLanesAlgorithmTest, WritesTheSamePastTheCaches) {
  const kernels::ScopedTarget scoped(GetParam());
  int past = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    Draw draw(seed);
    Geometry g = DrawGeometry(&draw);
    if (seed % 2 == 0) g.groups = g.input_channels = g.output_channels = 16 * draw(1, 3);
    Case c = PlainCase(g, seed, DType::kFloat32, &draw, {0, 2, 3, 4, 1});
    const uint8_t wanted = kJointSets[seed % 4];
    past += RunPastCaches(&c, "depth_lanes", wanted);
    ExpectGradients(c, wanted, 0, 0, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(past, kernels::DepthLanes().lanes == kernels::kMemoryLineFloats ? 15 : -1);
}

INSTANTIATE_TEST_SUITE_P(Targets, DepthLanesAlgorithmTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
