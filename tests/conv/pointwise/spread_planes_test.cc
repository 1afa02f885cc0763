// SPDX-License-Identifier: Apache-2.0
// Data gradients of 1x1 kernels with a stride, written past the caches: rows that are whole lines of memory with the
// empty rows behind them, and others; depths and heights whose last rows nothing reaches, and whose last ones something
// does.
#include <gtest/gtest.h>

#include <string>

#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

class SpreadPlanesTest : public testing::TestWithParam<int64_t> {};

TEST_P(SpreadPlanesTest, HoldTheSamePastTheCaches) {
  const kernels::ScopedTarget scoped(GetParam());
  const int64_t widths[] = {7, 8, 15, 16, 28, 56, 64};
  int past = 0;
  for (uint32_t seed = 0; seed < 80; ++seed) {
    Draw draw(seed);
    Geometry g;
    g.batch = draw(1, 3);
    g.input_channels = draw(1, 20);
    g.output_channels = draw(1, 20);
    g.input_size = {draw(1, 3), draw(1, 9), widths[draw(0, 6)]};
    g.stride = {seed % 3 == 0 ? 2 : 1, 2, 2};
    for (int a = 0; a < 3; ++a) g.output_size[a] = (g.input_size[a] - 1) / g.stride[a] + 1;
    Case c = PlainCase(g, seed + 1, DType::kFloat32, &draw);
    past += RunPastCaches(&c, "pointwise", kBackwardData);
    ExpectNear("backward data", c.input_result, Expected(c).input, 0, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(past, 20);
}

INSTANTIATE_TEST_SUITE_P(Targets, SpreadPlanesTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
