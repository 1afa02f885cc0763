// SPDX-License-Identifier: Apache-2.0
// Weights gradients of more small images than a chunk holds: those of few tiles lie in one another in a chunk, the last
// of which is shorter.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

// Images of 1x1 to 3x3 tiles of 4 outputs an axis, under kernels with and without depths and strides.
Geometry DrawSmallImages(Draw* draw) {
  Geometry g;
  g.batch = (*draw)(30, 60);
  g.input_channels = (*draw)(16, 20);
  g.output_channels = (*draw)(16, 20);
  const int64_t kernel = (*draw)(0, 1) == 0 ? 3 : 4, stride = kernel == 4 ? 2 : (*draw)(1, 2);
  const bool deep = (*draw)(0, 2) == 0;
  g.kernel = {deep ? 3 : 1, kernel, kernel};
  g.stride = {deep ? stride : 1, stride, stride};
  g.output_size[0] = deep ? (*draw)(1, 3) : 1;
  for (int a = 1; a < 3; ++a) g.output_size[a] = (*draw)(1, 12);
  for (int a = 0; a < 3; ++a) {
    g.pad_begin[a] = g.kernel[a] == 1 ? 0 : 1;
    g.input_size[a] = std::max<int64_t>(1, (g.output_size[a] - 1) * g.stride[a] + g.kernel[a] - 2 * g.pad_begin[a]);
  }
  return g;
}

class SmallImagesTest : public testing::TestWithParam<int64_t> {};

TEST_P(SmallImagesTest, HaveTheFormulasWeightsGradients) {
  const kernels::ScopedTarget scoped(GetParam());
  int served = 0;
  for (uint32_t seed = 0; seed < 16; ++seed) {
    Draw draw(seed);
    Case c = PlainCase(DrawSmallImages(&draw), seed + 1, DType::kFloat32, &draw);
    served += RunIfServed(&c, "winograd", kBackwardWeights);
    // The bound that docs/accuracy.md has for fast algorithms.
    ExpectNear("backward weights", c.weight_result, Expected(c).weight, 3e-6, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(served, 12);
}

INSTANTIATE_TEST_SUITE_P(Targets, SmallImagesTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
