// SPDX-License-Identifier: Apache-2.0
// Forward and data gradients whose results leave past a slow L3: those that are whole lines of memory do, rows, planes
// and parts of planes, the others beside them do not, and nothing else is written.
#include <gtest/gtest.h>

#include <string>

#include "conv/streams.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

struct Streaming {
  const char* name;
  int64_t least_channels;
  int64_t least_kernel;
  double tolerance;  // of the norm; whole numbers are exact where they are multiplied as they are
};

class StreamedResultsTest : public testing::TestWithParam<Streaming> {
 protected:
  void SetUp() override {
    if (ServesNobody(GetParam().name)) GTEST_SKIP() << "the processor has no matrix unit";
  }
};

TEST_P(StreamedResultsTest, AreTheFormulas) {
  const int64_t widths[] = {4, 8, 15, 16, 24, 32};
  int past = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    Geometry g;
    g.batch = draw(1, 3);
    g.groups = draw(0, 3) == 0 ? 2 : 1;
    g.input_channels = g.groups * (GetParam().least_channels + draw(0, 24));
    g.output_channels = g.groups * (GetParam().least_channels + draw(0, 24));
    g.input_size = g.output_size = {1, draw(1, 5) * 4, widths[draw(0, 5)]};
    const int64_t kernel = draw(GetParam().least_kernel, 3);
    g.kernel = {1, kernel, kernel};
    g.pad_begin = {0, (kernel - 1) / 2, (kernel - 1) / 2};
    for (int axis = 1; axis < 3; ++axis) g.input_size[axis] += kernel == 2 ? 1 : 0;
    Case c = PlainCase(g, seed + 1, draw(0, 5) == 0 ? DType::kFloat16 : DType::kFloat32, &draw);
    past += RunPastCaches(&c, GetParam().name, kBackwardData) ? 1 : 0;
    ExpectNear("backward data", c.input_result, Expected(c).input, GetParam().tolerance,
               "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(past, 30);
}

// Only where the L3 is slow, and only results that are much larger than an L2.
TEST(StreamedResultsRuleTest, AsksForLargeResultsAndASlowL3) {
  ConvProblem problem;
  Geometry& g = problem.geometry;
  g.batch = 64;
  g.input_channels = 256;
  g.output_channels = 1;
  g.input_size = g.output_size = {1, 512, 512};
  EXPECT_EQ(ResultPassesL3(problem, kBackwardData), L3IsSlow());
  EXPECT_EQ(ResultPassesL3(problem, kForward), L3IsSlow());
  g.input_size = g.output_size = {1, 8, 8};
  EXPECT_FALSE(ResultPassesL3(problem, kBackwardData));
  EXPECT_FALSE(ResultPassesL3(problem, kForward));
}

INSTANTIATE_TEST_SUITE_P(All, StreamedResultsTest,
                         testing::Values(Streaming{"split_gemm", 16, 1, 1e-6}, Streaming{"winograd", 16, 2, 3e-6},
                                         Streaming{"split_winograd", 32, 2, 3e-6}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace canopy::conv
