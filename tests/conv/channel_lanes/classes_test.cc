// SPDX-License-Identifier: Apache-2.0
// Small maps under large kernels, whose positions are computed tap by tap of the last axis: forward and backward data
// on every instruction set, with and without dot products, of several chunks of source channels and with the weights
// spaced out in their panels.
#include <gtest/gtest.h>

#include <string>

#include "conv/plan.h"
#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Geometry SmallMap(Draw* draw) {
  Geometry g;
  g.batch = (*draw)(1, 2);
  g.input_channels = (*draw)(1, 70);
  g.output_channels = (*draw)(1, 70);
  const int first_axis = (*draw)(0, 2);
  for (int axis = first_axis; axis < 3; ++axis) {
    g.kernel[axis] = (*draw)(3, 5);
    g.pad_begin[axis] = (*draw)(1, 2);
    g.stride[axis] = (*draw)(1, 5) / 5 + 1;
    g.output_size[axis] = (*draw)(1, 6);
    g.input_size[axis] = (g.output_size[axis] - 1) * g.stride[axis] + g.kernel[axis] - 2 * g.pad_begin[axis];
    while (g.input_size[axis] < 1) {
      ++g.output_size[axis];
      g.input_size[axis] += g.stride[axis];
    }
  }
  return g;
}

class ClassesByTapsTest : public testing::TestWithParam<int64_t> {};

TEST_P(ClassesByTapsTest, GiveExactSums) {
  const kernels::ScopedTarget scoped(GetParam());
  std::array<int, 3> served{};
  int by_taps = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const Geometry g = SmallMap(&draw);
    Case c = PlainCase(g, seed + 1, seed % 3 == 0 ? DType::kBFloat16 : DType::kFloat32, &draw);
    ExpectExactSums(&c, "channel_lanes", "seed " + std::to_string(seed), &served);
    c.problem.computations = kBackwardData;
    const std::string plan = BuildPlan(c.problem, "channel_lanes")->steps[0].step->Describe();
    by_taps += plan.find("by taps") != std::string::npos;
    if (HasFailure()) return;
  }
  EXPECT_EQ(served[0], 60);
  EXPECT_EQ(served[1], 60);
  EXPECT_GT(by_taps, 15);
}

INSTANTIATE_TEST_SUITE_P(Targets, ClassesByTapsTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
