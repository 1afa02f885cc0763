// SPDX-License-Identifier: Apache-2.0
// Weight gradients of 1x1 kernels with few channels on one side, within and beyond a tile of dot products, over planes
// large enough for them: with and without a last part of a vector, within and beyond a piece.
#include <gtest/gtest.h>

#include <string>

#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Case ThinCase(uint32_t seed) {
  Draw draw(seed);
  Case c;
  Geometry& g = c.problem.geometry;
  const int64_t few = draw(1, seed % 4 < 2 ? 5 : 14), many = draw(1, 40), sizes[] = {16, 17, 32, 45, 71};
  g.batch = draw(1, 3);
  g.groups = draw(0, 3) == 0 ? 2 : 1;
  g.input_channels = g.groups * (seed % 2 == 0 ? few : many);
  g.output_channels = g.groups * (seed % 2 == 0 ? many : few);
  g.input_size = g.output_size = {1, sizes[draw(0, 4)], sizes[draw(0, 4)]};
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype) {
    Tensor tensor = MakeTensor(dims, dtype, {0, 1, 2, 3, 4}, 0);
    FillRandom(&tensor, true, draw.engine());
    return tensor;
  };
  const auto [input, weight, output] = DimsOf(g);
  c.input = make(input, DType::kFloat32);
  c.weight = make(weight, DType::kFloat32);
  c.output = make(output, DType::kFloat32);
  c.weight_result = make(weight, seed % 3 == 0 ? DType::kFloat16 : DType::kFloat32);
  c.SetOperands();
  return c;
}

class DotWeightsTest : public testing::TestWithParam<int64_t> {};

TEST_P(DotWeightsTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Case c = ThinCase(seed);
    EXPECT_EQ(RunAlgorithm(&c, "pointwise", kBackwardWeights), kBackwardWeights);
    const double tolerance = c.weight_result.operand.dtype == DType::kFloat32 ? 0 : 1e-3;
    ExpectNear("backward weights", c.weight_result, Expected(c).weight, tolerance, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DotWeightsTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
