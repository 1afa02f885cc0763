// SPDX-License-Identifier: Apache-2.0
// Data gradients and forward of 1x1 kernels over small planes that lie in one row, so that tiles reach over two images,
// or more where planes are smaller than tiles; with and without more channels than one product has terms (256).
#include <gtest/gtest.h>

#include <string>

#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Case FoldedCase(uint32_t seed) {
  Draw draw(seed);
  Case c;
  Geometry& g = c.problem.geometry;
  const int64_t channels[] = {3, 20, 260}, sizes[] = {3, 6, 7, 9, 14};
  g.batch = draw(1, 4);
  g.input_channels = channels[draw(0, 2)];
  g.output_channels = g.input_channels == 260 ? 20 : channels[draw(0, 2)];
  g.input_size = g.output_size = {1, sizes[draw(0, 4)], sizes[draw(0, 4)]};
  const DType results = seed % 4 == 0 ? DType::kBFloat16 : DType::kFloat32;
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype) {
    Tensor tensor = MakeTensor(dims, dtype, {0, 1, 2, 3, 4}, 0);
    FillRandom(&tensor, true, draw.engine());
    return tensor;
  };
  const auto [input, weight, output] = DimsOf(g);
  const DType sources = seed % 5 == 0 ? DType::kFloat16 : DType::kFloat32;
  c.input = make(input, sources);
  c.weight = make(weight, sources);
  c.output = make(output, sources);
  c.input_result = make(input, results);
  c.output_result = make(output, results);
  c.SetOperands();
  return c;
}

class FoldedPlanesTest : public testing::TestWithParam<int64_t> {};

TEST_P(FoldedPlanesTest, GiveExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 30; ++seed) {
    Case c = FoldedCase(seed);
    const Sums expected = Expected(c);
    const double tolerance = c.input_result.operand.dtype == DType::kFloat32 ? 0 : 4e-3;
    const std::string trace = "seed " + std::to_string(seed);
    for (const bool saturate : {false, true}) {
      for (const Computation computation : {kForward, kBackwardData}) {
        EXPECT_EQ(RunAlgorithm(&c, "pointwise", computation, saturate), computation);
      }
      ExpectNear("forward", c.output_result, expected.output, tolerance, trace);
      ExpectNear("backward data", c.input_result, expected.input, tolerance, trace);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FoldedPlanesTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
