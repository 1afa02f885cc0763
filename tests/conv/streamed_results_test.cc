// SPDX-License-Identifier: Apache-2.0
// Forward and data gradients whose results leave past a slow L3: rows, planes and parts of planes, whether they are
// whole lines of memory or begin and end within some, and nothing else is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "conv/plan.h"
#include "conv/streams.h"
#include "kernels/streams.h"
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
  const int64_t widths[] = {4, 8, 15, 16, 24, 32, 33};
  int past = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    Geometry g;
    g.batch = draw(1, 3);
    g.groups = draw(0, 3) == 0 ? 2 : 1;
    g.input_channels = g.groups * (GetParam().least_channels + draw(0, 24));
    g.output_channels = g.groups * (GetParam().least_channels + draw(0, 24));
    g.input_size = g.output_size = {1, draw(1, 5) * 4, widths[draw(0, 6)]};
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

// Small results stay where they are; of larger ones rows that are whole lines leave, and of the largest all long ones.
TEST(StreamedResultsRuleTest, LooksAtRowsWhereResultsAreNotTheLargest) {
  alignas(kernels::kMemoryLine) const float line[2 * kernels::kMemoryLineFloats] = {};
  EXPECT_FALSE(Streams(StreamedRows::kNone, line, 64, 64));
  EXPECT_TRUE(Streams(StreamedRows::kOfWholeLines, line, 64, 64));
  EXPECT_FALSE(Streams(StreamedRows::kOfWholeLines, line + 4, 64, 64));
  EXPECT_FALSE(Streams(StreamedRows::kOfWholeLines, line, 60, 64));
  EXPECT_FALSE(Streams(StreamedRows::kOfWholeLines, line, 64, 68));
  EXPECT_TRUE(Streams(StreamedRows::kAll, line + 4, 60, 68));
  EXPECT_FALSE(Streams(StreamedRows::kAll, line, 31, 68));
  ConvProblem problem;
  Geometry& g = problem.geometry;
  g.batch = g.output_channels = 1;
  const int64_t l2_floats = base::Cpu().l2_bytes / int64_t{sizeof(float)};
  const auto rows_past = [&](int64_t l2s) {
    g.input_channels = l2s;
    g.input_size = g.output_size = {1, 1, l2_floats};
    return RowsPastL3(problem, kBackwardData);
  };
  EXPECT_EQ(rows_past(3), StreamedRows::kNone);
  EXPECT_EQ(rows_past(7), L3IsSlow() ? StreamedRows::kOfWholeLines : StreamedRows::kNone);
  EXPECT_EQ(rows_past(9), L3IsSlow() ? StreamedRows::kAll : StreamedRows::kNone);
}

// Where a stride leaves a pixel one result, it is stored with the zeros behind it and in the rows below.
TEST(ResultsApartTest, AreTheFormulas) {
  const char* const name = "split_gemm";
  const double tolerance = 1e-6;  // of the norm
  if (ServesNobody(name)) GTEST_SKIP() << "the processor has no matrix unit";
  int past = 0, joined = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    Geometry g;
    g.batch = draw(1, 4);
    g.groups = draw(0, 3) == 0 ? 2 : 1;
    g.input_channels = g.groups * (16 + draw(0, 24));
    g.output_channels = g.groups * (16 + draw(0, 24));
    g.stride = {draw(1, 2), draw(2, 3), draw(2, 4)};
    g.output_size = {draw(1, 2), draw(1, 20), draw(1, 30)};
    for (int axis = 0; axis < 3; ++axis) {
      g.input_size[axis] = g.output_size[axis] * g.stride[axis] - (draw(0, 3) == 0 ? g.stride[axis] - 1 : 0);
    }
    Case c = PlainCase(g, seed + 1, draw(0, 5) == 0 ? DType::kFloat16 : DType::kFloat32, &draw);
    const std::vector<double> expected = Expected(c).input;
    const std::string trace = "seed " + std::to_string(seed);
    past += RunPastCaches(&c, name, kBackwardData) ? 1 : 0;
    ExpectNear("backward data past the caches", c.input_result, expected, tolerance, trace);
    for (const bool saturate : {false, true}) {
      std::fill(c.input_result.bytes.begin(), c.input_result.bytes.end(), char{0x77});
      ASSERT_TRUE(RunIfServed(&c, name, kBackwardData, saturate));
      ExpectNear("backward data", c.input_result, expected, tolerance, trace);
    }
    const std::string plan = BuildPlan(c.problem, name)->steps[0].step->Describe();
    joined += plan.find("zeros with the results") != std::string::npos ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(past, 30);
  EXPECT_GT(joined, 10);
  EXPECT_LT(joined, 50);
}

// Where a row of a large plane is cut, its parts are whole lines, but for the last one's end.
TEST(RowsOfTilesTest, AreCutBetweenLines) {
  Geometry g;
  g.batch = 1;
  g.input_channels = g.output_channels = 64;
  g.kernel = {1, 3, 3};
  g.pad_begin = {0, 1, 1};
  Draw draw(0);
  const ScopedStreams streams(true);
  for (const auto& [name, width] : {std::pair{"winograd", 272},
                                    {"winograd", 400},
                                    {"split_winograd", 272},
                                    {"split_winograd", 304},
                                    {"split_winograd", 400}}) {
    if (ServesNobody(name)) continue;
    g.input_size = g.output_size = {1, 8, width};
    Case c = PlainCase(g, 1, DType::kFloat32, &draw);
    c.input_result = MakeTensor(c.input.dims, DType::kFloat32, {0, 1, 2, 3, 4}, 0);
    c.SetOperands();
    c.problem.computations = kBackwardData;
    const std::string plan = BuildPlan(c.problem, name)->steps[0].step->Describe();
    std::smatch box;
    ASSERT_TRUE(std::regex_search(plan, box, std::regex("1x4x4 tiles in boxes of 1 images by 1x1x([0-9]+)"))) << plan;
    const int64_t tiles = std::stoll(box[1].str());
    EXPECT_LT(tiles, width / 4);
    EXPECT_EQ(tiles * 4 % kernels::kMemoryLineFloats, 0) << plan;
  }
}

INSTANTIATE_TEST_SUITE_P(All, StreamedResultsTest,
                         testing::Values(Streaming{"split_gemm", 16, 1, 1e-6}, Streaming{"winograd", 16, 2, 3e-6},
                                         Streaming{"split_winograd", 32, 2, 3e-6}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace canopy::conv
