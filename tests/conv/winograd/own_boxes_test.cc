// SPDX-License-Identifier: Apache-2.0
// Data gradients whose one box is cut so that each thread has windows and kernels of its own. Run with two threads.
#include <gtest/gtest.h>

#include <string>

#include "conv/conv.h"
#include "conv/plan.h"
#include "exec/pool.h"
#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

// All tiles are one box, and as many that kernels are little work beside them.
Geometry DrawOneBox(Draw* draw) {
  Geometry g;
  g.batch = 8;
  g.groups = (*draw)(1, 2);
  g.input_channels = 128 * g.groups;  // panels enough for two threads
  g.output_channels = (*draw)(33, 48) * g.groups;
  g.kernel = {1, 3, 3};
  g.input_size[0] = g.output_size[0] = 1;
  for (int a = 1; a < 3; ++a) {
    g.input_size[a] = (*draw)(13, 16);
    g.pad_begin[a] = (*draw)(0, 1);
    g.output_size[a] = g.input_size[a] + 2 * g.pad_begin[a] - 2;
  }
  return g;
}

TEST(OwnBoxesTest, HaveTheFormulasDataGradients) {
  ASSERT_GT(exec::ThreadCount(), 1);
  int own = 0;
  for (uint32_t seed = 0; seed < 4; ++seed) {
    Draw draw(seed);
    Case c = PlainCase(DrawOneBox(&draw), seed + 1, DType::kFloat32, &draw);
    if (!RunIfServed(&c, "winograd", kBackwardData)) continue;
    const std::string plan = Describe(*BuildPlan(c.problem, "winograd"));
    own += plan.find("kernels transformed in each job, windows in each job") != std::string::npos;
    // The bound that docs/accuracy.md has for fast algorithms.
    ExpectNear("backward data", c.input_result, Expected(c).input, 3e-6, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(own, 0);
}

}  // namespace
}  // namespace canopy::conv
