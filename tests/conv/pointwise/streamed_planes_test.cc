// SPDX-License-Identifier: Apache-2.0
// Results past the caches, where planes are whole lines of memory; others, of more sources than one sum has or with
// gaps between planes, are not.
#include <gtest/gtest.h>

#include <string>

#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

class StreamedPlanesTest : public testing::TestWithParam<int64_t> {};

TEST_P(StreamedPlanesTest, WritesTheSamePastTheCaches) {
  const kernels::ScopedTarget scoped(GetParam());
  const int64_t widths[] = {4, 7, 8, 12, 16, 28, 48, 96};  // the last: planes that are cut one by one
  int past = 0, others = 0;
  for (uint32_t seed = 0; seed < 80; ++seed) {
    Draw draw(seed);
    Geometry g;
    g.batch = draw(1, 3);
    g.groups = draw(1, 2);
    g.input_channels = g.groups * draw(1, 90);  // the most that leave together are 32
    g.output_channels = g.groups * (draw(0, 7) == 0 ? draw(250, 262) : draw(1, 40));
    g.input_size = g.output_size = {1, draw(1, 4) * 4, widths[draw(0, 7)]};
    Case c = PlainCase(g, seed + 1, DType::kFloat32, &draw);
    const bool streamed = RunPastCaches(&c, "pointwise", kBackwardData);
    const auto& strides = c.problem.input_result.strides;
    const bool lines = g.input_size[1] * g.input_size[2] % 16 == 0 && strides[0] % 16 == 0 && strides[1] % 16 == 0;
    EXPECT_TRUE(!streamed || (lines && g.group_output_channels() <= 256)) << seed;
    ++(streamed ? past : others);
    ExpectNear("backward data", c.input_result, Expected(c).input, 0, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(past, 20);
  EXPECT_GT(others, 10);
}

INSTANTIATE_TEST_SUITE_P(Targets, StreamedPlanesTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
