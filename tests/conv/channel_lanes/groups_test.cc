// SPDX-License-Identifier: Apache-2.0
// Groups of few channels, several in a job: their weights are packed side by side, and jobs of other groups pack theirs
// next to them at the same time.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "conv/plan.h"
#include "exec/pool.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Geometry GroupsOf(Draw* draw) {
  const int64_t sources[] = {1, 2, 5, 16}, results[] = {16, 17, 32};
  Geometry g;
  g.groups = (*draw)(7, 17);
  g.batch = (*draw)(1, 3);
  g.input_channels = g.groups * results[(*draw)(0, 2)];
  g.output_channels = g.groups * sources[(*draw)(0, 3)];
  g.output_size = {1, 17, 16};
  g.kernel = {1, (*draw)(1, 3), 3};
  g.pad_begin = {0, (*draw)(0, 1), 1};
  for (int axis = 0; axis < 3; ++axis)
    g.input_size[axis] = g.output_size[axis] + g.kernel[axis] - 1 - 2 * g.pad_begin[axis];
  return g;
}

TEST(ChannelLanesTest, SumsOfManyGroupsAreExactWhicheverJobComesFirst) {
  int together = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    Draw draw(seed);
    const Geometry g = GroupsOf(&draw);
    Case c = PlainCase(g, 1, seed % 3 == 0 ? DType::kBFloat16 : DType::kFloat32, &draw);
    std::optional<exec::ScopedBackwardJobs> backward;
    if (seed % 2 == 0) backward.emplace();
    EXPECT_EQ(RunAlgorithm(&c, "channel_lanes", kBackwardData), kBackwardData);
    const std::string trace = "seed " + std::to_string(seed);
    ExpectNear("backward data", c.input_result, Expected(c).input, 0, trace);
    c.problem.computations = kBackwardData;
    const std::string plan = BuildPlan(c.problem, "channel_lanes")->steps[0].step->Describe();
    together += plan.find("groups together") != std::string::npos && plan.find("packed once") != std::string::npos;
    if (HasFailure()) return;
  }
  EXPECT_GT(together, 10);
}

}  // namespace
}  // namespace canopy::conv
