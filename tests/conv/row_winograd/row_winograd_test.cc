// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: few channels, kernels of 2 to 5 rows, lines of one and of several
// tiles, planes and images, and chunks, panels and blocks with rests.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "conv/row_winograd/lines.h"
#include "exec/pool.h"
#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/joint_gradients.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

constexpr double kBound = 3e-6;  // that docs/accuracy.md has for fast algorithms

Geometry DrawRows(Draw* draw) {
  Geometry g;
  const int64_t sizes[] = {2, 4, 5, 7, 8, 12, 14, 15, 16, 17, 28, 33, 56}, channels[] = {1, 2, 3, 4, 6, 8, 9, 17, 28};
  g.batch = (*draw)(1, 4);
  g.groups = (*draw)(0, 2) == 0 ? (*draw)(2, 3) : 1;
  const int most = g.groups > 1 ? 5 : 8;
  g.input_channels = g.groups * channels[(*draw)(0, most)];
  g.output_channels = g.groups * channels[(*draw)(0, most)];
  for (int a = 0; a < 3; ++a) {
    const bool depth = a == 0, deep = (*draw)(0, 3) == 0;
    g.kernel[a] = depth ? (deep ? (*draw)(1, 3) : 1) : (*draw)(a == 1 ? 2 : 1, 5);
    g.dilation[a] = a != 1 && (*draw)(0, 4) == 0 ? 2 : 1;
    const int64_t reach = (g.kernel[a] - 1) * g.dilation[a] + 1;
    g.pad_begin[a] = (*draw)(0, 4) == 0 ? (*draw)(0, reach + 1) : reach / 2;
    const int64_t least = std::max<int64_t>(1, reach - 2 * g.pad_begin[a]);
    // Large planes are slow to check: seldom both long and wide.
    const int64_t size = depth ? (deep ? (*draw)(1, 4) : 1) : sizes[(*draw)(0, (*draw)(0, 2) == 0 ? 12 : 6)];
    g.input_size[a] = std::max(least, size);
    g.output_size[a] = g.input_size[a] + 2 * g.pad_begin[a] - reach + 1;
  }
  return g;
}

Case RowsCase(uint32_t seed) {
  const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  Draw draw(seed);
  const Geometry g = DrawRows(&draw);
  Case c = PlainCase(g, seed, types[seed % 4], &draw);
  if (draw(0, 4) == 0) c.problem.rule.input_rounding = numerics::InputRounding::kHfloat32x11;
  return c;
}

// The bound, and half a step of the type's last bit, which sums of whole numbers may need.
double ToleranceOf(const Tensor& result) {
  return kBound + (result.operand.dtype == DType::kBFloat16  ? 0x1p-9
                   : result.operand.dtype == DType::kFloat16 ? 0x1p-12
                                                             : 0);
}

class RowWinogradTest : public testing::TestWithParam<int64_t> {};

TEST_P(RowWinogradTest, GivesTheFormulasSums) {
  const kernels::ScopedTarget scoped(GetParam());
  std::array<int, 3> served{};
  for (uint32_t seed = 0; seed < 320; ++seed) {
    Case c = RowsCase(seed);
    std::optional<exec::ScopedBackwardJobs> backward;
    if (seed % 8 >= 4) backward.emplace();
    const bool saturate = seed % 16 == 2;  // rows go by way of lines
    const std::string trace = "seed " + std::to_string(seed);
    const uint8_t forward = RunAlgorithm(&c, "row_winograd", kForward, saturate);
    const uint8_t data = RunAlgorithm(&c, "row_winograd", kBackwardData, saturate);
    const uint8_t weights = RunAlgorithm(&c, "row_winograd", kBackwardWeights, saturate);
    const Sums expected = Expected(c);
    if (forward) ExpectNear("forward", c.output_result, expected.output, ToleranceOf(c.output_result), trace);
    if (data) ExpectNear("backward data", c.input_result, expected.input, ToleranceOf(c.input_result), trace);
    if (weights) ExpectNear("backward weights", c.weight_result, expected.weight, ToleranceOf(c.weight_result), trace);
    served[0] += forward != 0;
    served[1] += data != 0;
    served[2] += weights != 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(served[0], 120);
  EXPECT_GT(served[1], 120);
  EXPECT_GT(served[2], 60);
}

TEST_P(RowWinogradTest, SumsBiasGradientsOnTheWay) {
  const kernels::ScopedTarget scoped(GetParam());
  constexpr uint8_t kBoth = kBackwardWeights | kBiasFromOutput;
  int served = 0;
  for (uint32_t seed = 500; seed < 620; ++seed) {
    Case c = RowsCase(seed);
    if (RunAlgorithm(&c, "row_winograd", kBoth) != kBoth) continue;
    ++served;
    const Sums expected = Expected(c);
    const std::string trace = "seed " + std::to_string(seed);
    ExpectNear("backward weights", c.weight_result, expected.weight, kBound, trace);
    ExpectNear("bias gradient", c.bias_result, BiasOf(c), 0, trace);  // whole numbers, whose sums FP32 holds
    if (HasFailure()) return;
  }
  EXPECT_GT(served, 15);
}

TEST_P(RowWinogradTest, KeepsPaddingAbsentBesideWhatIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 120; ++seed) {
    Case c = RowsCase(seed);
    MakeOneInfinite(&c, seed);
    ExpectPaddingAbsent(&c, "row_winograd", "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RowWinogradTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

// Every tile is in one run of one line, at a place of its own.
TEST(LinesTest, RunsHoldEveryTileOnce) {
  for (int64_t positions : {1, 40, 100, 500}) {
    for (int64_t height : {1, 4, 9, 20}) {
      Geometry g;
      g.kernel = {1, 3, 3};
      g.pad_begin = {0, 1, 1};
      const Extent3 size{3, height, 10};
      row_winograd::Lines lines(2, size, 10, 4, row_winograd::AxisShifts(g, 2, true));
      lines.Cut(positions);
      const int64_t tiles = (height + 3) / 4;
      int64_t expected = 0;  // number of the next tile, through images, depths and rows
      for (int64_t line = 0; line < lines.count(); ++line) {
        std::vector<row_winograd::SegmentRun> room(static_cast<size_t>(lines.most_runs()));
        const auto runs = lines.ListRuns(line, room.data());
        ASSERT_LE(runs.size(), room.size());
        int64_t position = 0;
        for (const row_winograd::SegmentRun& run : runs) {
          EXPECT_EQ(run.position, position);
          EXPECT_EQ((run.image * size[0] + run.depth) * tiles + run.row / 4, expected);
          EXPECT_LE(run.row / 4 + run.tiles, tiles);
          EXPECT_LE((run.tiles - 1) * 4 + 6, lines.MostRows(6));
          position += run.tiles * lines.pitch();
          expected += run.tiles;
        }
        EXPECT_EQ(position, lines.SegmentsOf(line) * lines.pitch());
        EXPECT_LE(position, lines.MostFloats());
      }
      EXPECT_EQ(expected, 2 * size[0] * tiles);
    }
  }
}

}  // namespace
}  // namespace canopy::conv
