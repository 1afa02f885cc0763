// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: forward products of few columns, with strips of rows and parts of
// rows, every residue of a padding by a stride, kernels with a depth, and input whose pixels lie apart.
#include <gtest/gtest.h>

#include <string>

#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Geometry DrawFewColumns(Draw* draw) {
  Geometry g;
  const int64_t sizes[] = {1, 2, 5, 7, 8, 15, 16, 17, 33, 70}, outputs[] = {1, 3, 9, 13, 14, 15, 29, 40};
  g.batch = (*draw)(1, 2);
  g.groups = (*draw)(1, 2);
  g.input_channels = g.groups * (*draw)(1, 4);
  g.output_channels = g.groups * outputs[(*draw)(0, 7)];
  g.input_size[0] = g.output_size[0] = 1;
  const bool deep = (*draw)(0, 3) == 0;
  for (int a = deep ? 0 : 1; a < 3; ++a) {
    g.kernel[a] = (*draw)(1, a == 0 ? 2 : 4);
    g.stride[a] = (*draw)(1, 4);
    g.dilation[a] = (*draw)(0, 3) == 0 ? (*draw)(2, 3) : 1;
    const int64_t reach = (g.kernel[a] - 1) * g.dilation[a] + 1;
    g.pad_begin[a] = (*draw)(0, 2) == 0 ? (*draw)(0, reach + 1) : reach / 2;
    const int64_t least = std::max<int64_t>(1, reach - 2 * g.pad_begin[a]);
    g.input_size[a] = std::max(least, a == 0 ? (*draw)(1, 4) : sizes[(*draw)(0, 9)]);
    g.output_size[a] = (g.input_size[a] + 2 * g.pad_begin[a] - reach) / g.stride[a] + 1;
  }
  return g;
}

Case FewColumnsCase(uint32_t seed, DType type) {
  Draw draw(seed);
  Case c = PlainCase(DrawFewColumns(&draw), seed, type, &draw);
  if (seed % 3 == 0) {  // channels last
    c.input = MakeTensor(c.input.dims, type, {0, 2, 3, 4, 1}, 0);
    FillRandom(&c.input, true, draw.engine());
  }
  if (seed % 5 == 0) c.output_result = MakeTensor(c.output_result.dims, type, {0, 1, 2, 3, 4}, 0);
  c.SetOperands();
  return c;
}

class ColumnsTest : public testing::TestWithParam<int64_t> {};

TEST_P(ColumnsTest, GiveExactForwardSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  const DType types[] = {DType::kFloat32, DType::kBFloat16, DType::kFloat32, DType::kFloat16};
  int served = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Case c = FewColumnsCase(seed, types[seed % 4]);
    if (!RunIfServed(&c, "columns", kForward)) continue;
    ++served;
    // BF16 holds whole numbers up to 256.
    const double tolerance = c.problem.output_result.dtype == DType::kFloat32 ? 0 : 4e-3;
    ExpectNear("output", c.output_result, Expected(c).output, tolerance, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(served, 140);  // the others have gaps behind rows
}

TEST_P(ColumnsTest, KeepForwardPaddingAbsentBesideWhatIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  int served = 0;
  for (uint32_t seed = 0; seed < 90; ++seed) {
    Case c = FewColumnsCase(seed, DType::kFloat32);
    MakeOneInfinite(&c, seed);
    if (!RunIfServed(&c, "columns", kForward)) continue;
    ++served;
    ExpectSameClasses(c.output_result, Expected(c).output, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(served, 50);
}

INSTANTIATE_TEST_SUITE_P(Targets, ColumnsTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
