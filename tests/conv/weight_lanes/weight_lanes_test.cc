// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: more channels than one product has terms or one job has lanes, and
// kernels that cover their input.
#include <gtest/gtest.h>

#include <string>

#include "kernels/dispatch.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

Geometry DrawFewPixels(Draw* draw) {
  Geometry g;
  const int64_t channels[] = {1, 5, 16, 35, 64, 101};
  g.batch = (*draw)(1, 4);
  g.groups = (*draw)(0, 4) == 0 ? 2 : 1;
  g.input_channels = g.groups * channels[(*draw)(0, 5)];
  g.output_channels = g.groups * ((*draw)(0, 5) == 0 ? 515 : channels[(*draw)(0, 5)]);
  const bool covered = (*draw)(0, 3) == 0, padded = (*draw)(0, 1) == 0;
  for (int a = 0; a < 3; ++a) {
    g.output_size[a] = covered ? 1 : (*draw)(1, a == 0 ? 2 : 6);
    g.kernel[a] = (*draw)(1, a == 0 ? 2 : 4);
    if (covered) {
      g.pad_begin[a] = padded ? (*draw)(0, g.kernel[a] - 1) : 0;
      g.input_size[a] = g.kernel[a] - g.pad_begin[a];
      if (padded) g.input_size[a] = std::max<int64_t>(1, g.input_size[a] - (*draw)(-1, 1));
      g.stride[a] = padded ? 2 : 1;
      continue;
    }
    g.stride[a] = (*draw)(1, 2);
    g.dilation[a] = (*draw)(0, 3) == 0 ? 2 : 1;
    g.pad_begin[a] = (*draw)(0, g.kernel[a]);
    const int64_t reach = (g.output_size[a] - 1) * g.stride[a] + (g.kernel[a] - 1) * g.dilation[a] + 1;
    g.input_size[a] = std::max<int64_t>(1, reach - g.pad_begin[a] - (*draw)(-1, 2));
  }
  return g;
}

Case MakeCase(const Geometry& g, DType type, Draw* draw) {
  Case c;
  c.problem.geometry = g;
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype) {
    Tensor tensor = MakeTensor(dims, dtype, {0, 1, 2, 3, 4}, 0);
    FillRandom(&tensor, true, draw->engine());
    return tensor;
  };
  const auto [input, weight, output] = DimsOf(g);
  c.input = make(input, type);
  c.weight = make(weight, type);
  c.output = make(output, type);
  c.input_result = make(input, DType::kFloat32);
  c.weight_result = make(weight, DType::kFloat32);
  c.output_result = make(output, DType::kFloat32);
  c.SetOperands();
  return c;
}

Case FewPixelsCase(uint32_t seed, DType type) {
  Draw draw(seed);
  const Geometry g = DrawFewPixels(&draw);
  return MakeCase(g, type, &draw);
}

// The kernel covers the input of one image.
Geometry DrawOnePixel(Draw* draw) {
  Geometry g;
  const int64_t outputs[] = {1, 5, 48, 256, 257, 600};
  g.batch = 1;
  g.groups = (*draw)(1, 2);
  g.input_channels = g.groups * (*draw)(100, 300);
  g.output_channels = g.groups * outputs[(*draw)(0, 5)];
  g.output_size = {1, 1, 1};
  for (int a = 0; a < 3; ++a) g.input_size[a] = g.kernel[a] = a == 0 ? 1 : (*draw)(1, 3);
  return g;
}

class WeightLanesTest : public testing::TestWithParam<int64_t> {};

TEST_P(WeightLanesTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
    Case c = FewPixelsCase(seed, types[seed % 4]);
    for (const Computation computation : {kForward, kBackwardData, kBackwardWeights}) {
      EXPECT_EQ(RunAlgorithm(&c, "weight_lanes", computation), computation);
    }
    const Sums expected = Expected(c);
    const std::string trace = "seed " + std::to_string(seed);
    ExpectNear("forward", c.output_result, expected.output, 0, trace);
    ExpectNear("backward data", c.input_result, expected.input, 0, trace);
    ExpectNear("backward weights", c.weight_result, expected.weight, 0, trace);
    if (HasFailure()) return;
  }
}

// Blocks that are whole lines of memory, and others.
TEST_P(WeightLanesTest, WeightGradientsAreTheSamePastTheCaches) {
  const kernels::ScopedTarget scoped(GetParam());
  int past = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    Case c = FewPixelsCase(seed, DType::kFloat32);
    past += RunPastCaches(&c, "weight_lanes", kBackwardWeights);
    ExpectNear("backward weights", c.weight_result, Expected(c).weight, 0, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(past, 10);
  EXPECT_LT(past, 120);
}

TEST_P(WeightLanesTest, OnePixelWeighsRowsOfWeights) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 16; ++seed) {
    Draw draw(seed);
    const Geometry g = DrawOnePixel(&draw);
    Case c = MakeCase(g, seed % 4 == 3 ? DType::kFloat16 : DType::kFloat32, &draw);
    EXPECT_EQ(RunAlgorithm(&c, "weight_lanes", kBackwardData), kBackwardData);
    ExpectNear("backward data", c.input_result, Expected(c).input, 0, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

// Rows of weights a multiple of 4 KiB apart, which leave tiles fewer rows, and so few pixels that there are none but
// dot products; with several chunks of both.
TEST_P(WeightLanesTest, ForwardOfRowsThatShareASetOfTheCache) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 8; ++seed) {
    Draw draw(seed);
    const int64_t size = seed % 4 + 1;
    Geometry g;
    g.batch = seed < 4 ? 1 : 2;
    g.input_channels = seed % 2 == 0 ? 64 : 320;
    g.output_channels = 21;
    g.kernel = {1, 4, 4};
    g.stride = {1, 2, 2};
    g.pad_begin = {0, 1, 1};
    g.input_size = {1, 2 * size, 2 * size};
    g.output_size = {1, size, size};
    Case c = MakeCase(g, DType::kFloat32, &draw);
    EXPECT_EQ(RunAlgorithm(&c, "weight_lanes", kForward), kForward);
    ExpectNear("forward", c.output_result, Expected(c).output, 0, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

TEST_P(WeightLanesTest, KeepForwardPaddingAbsentBesideWhatIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 24; ++seed) {
    Case c = FewPixelsCase(seed, seed % 4 == 3 ? DType::kBFloat16 : DType::kFloat32);
    MakeOneInfinite(&c, seed);
    EXPECT_EQ(RunAlgorithm(&c, "weight_lanes", kForward), kForward);
    ExpectSameClasses(c.output_result, Expected(c).output, "seed " + std::to_string(seed) + " forward");
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WeightLanesTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
