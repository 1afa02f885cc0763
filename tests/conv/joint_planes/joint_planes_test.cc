// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: see planes_case.h.
#include <gtest/gtest.h>

#include <string>

#include "conv/joint_planes/step.h"
#include "kernels/dispatch.h"
#include "kernels/joint_planes/contract.h"
#include "tests/conv/joint_gradients.h"
#include "tests/conv/planes_case.h"

namespace canopy::conv {
namespace {

class JointPlanesAlgorithmTest : public testing::TestWithParam<int64_t> {};

TEST_P(JointPlanesAlgorithmTest, GivesExactSumsOfWholeNumbers) {
  const kernels::ScopedTarget scoped(GetParam());
  int served[4] = {};
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const DType types[] = {DType::kBFloat16, DType::kFloat32, DType::kFloat16, DType::kFloat32, DType::kFloat32};
    Case c = PlanesCase(seed, types[seed % 5]);
    const uint8_t wanted = kJointSets[seed % 4];
    const uint8_t own = RunAlgorithm(&c, "joint_planes", wanted);
    if (own == 0) continue;
    served[seed % 4] += own == wanted;
    // BF16 holds whole numbers up to 256.
    const double tolerance = c.problem.input_result.dtype == DType::kFloat32 ? 0 : 4e-3;
    ExpectGradients(c, wanted, 0, tolerance, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  for (const int count : served) EXPECT_GT(count, 30);
}

// Kernels that reach over planes of other depths, among them some that meet none, and those whose depth is a height.
Geometry DrawVolumes(Draw* draw) {
  Geometry g;
  const int64_t sizes[] = {1, 2, 5, 7, 8, 15, 16, 17, 28, 33}, plain = (*draw)(0, 3);
  g.batch = (*draw)(1, 3);
  g.groups = g.input_channels = g.output_channels = (*draw)(1, 3);
  const int64_t stride = (*draw)(1, 2);
  for (int a = 0; a < 3; ++a) {
    const bool one = a > 0 && (plain == 3 || plain == a);
    g.kernel[a] = one ? 1 : (*draw)(1, a == 0 ? 5 : 7);
    g.stride[a] = one ? 1 : a == 0 ? (*draw)(1, 3) : stride;
    g.pad_begin[a] = one ? 0 : (*draw)(0, 4) == 0 ? (*draw)(0, g.kernel[a] + 1) : g.kernel[a] / 2;
    const int64_t least = std::max<int64_t>(1, g.kernel[a] - 2 * g.pad_begin[a]);
    g.input_size[a] = std::max(least, a == 0 ? (*draw)(1, 6) : sizes[(*draw)(0, 9)]);
    g.output_size[a] = (g.input_size[a] + 2 * g.pad_begin[a] - g.kernel[a]) / g.stride[a] + 1;
  }
  return g;
}

TEST_P(JointPlanesAlgorithmTest, AddsUpTheDepthsOfAKernel) {
  const kernels::ScopedTarget scoped(GetParam());
  int served[4] = {};
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const DType types[] = {DType::kBFloat16, DType::kFloat32, DType::kFloat16, DType::kFloat32, DType::kFloat32};
    Draw draw(seed);
    Case c = PlainCase(DrawVolumes(&draw), seed, types[seed % 5], &draw);
    const bool infinite = seed % 10 == 9;
    if (infinite) MakeOneInfinite(&c, seed);
    const uint8_t wanted = infinite ? kAllGradients : kJointSets[seed % 4];
    const uint8_t own = RunAlgorithm(&c, "joint_planes", wanted);
    if (own == 0) continue;
    served[seed % 4] += own == wanted;
    const std::string trace = "seed " + std::to_string(seed);
    // BF16 holds whole numbers up to 256.
    const double tolerance = c.problem.input_result.dtype == DType::kFloat32 ? 0 : 4e-3;
    infinite ? ExpectGradientClasses(c, trace) : ExpectGradients(c, wanted, 0, tolerance, trace);
    if (HasFailure()) return;
  }
  for (const int count : served) EXPECT_GT(count, 30);
}

// HF32 products of elements with more bits, but for the weights.
void MakeRounded(Case* c) {
  c->problem.rule.input_rounding = numerics::InputRounding::kHfloat32x11;
  for (Tensor* tensor : {&c->input, &c->output}) {
    ForEach(tensor->dims, [&](const std::array<int64_t, 5>& at) { tensor->Set(at, tensor->Get(at) * 4097); });
  }
}

// The bias gradient keeps all bits.
TEST_P(JointPlanesAlgorithmTest, RoundsMultiplicandsAndNothingElse) {
  const kernels::ScopedTarget scoped(GetParam());
  int served = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Draw draw(seed);
    Case c =
        seed % 3 == 0 ? PlainCase(DrawVolumes(&draw), seed, DType::kFloat32, &draw) : PlanesCase(seed, DType::kFloat32);
    MakeRounded(&c);
    const uint8_t own = RunAlgorithm(&c, "joint_planes", kAllGradients);
    if (own == 0) continue;
    served += own == kAllGradients;
    ExpectGradients(c, kAllGradients, 1e-5, 1e-5, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(served, 100);
}

TEST_P(JointPlanesAlgorithmTest, KeepsPaddingAbsentBesideWhatIsNotFinite) {
  const kernels::ScopedTarget scoped(GetParam());
  for (uint32_t seed = 0; seed < 90; ++seed) {
    Case c = PlanesCase(seed, seed % 2 == 0 ? DType::kFloat32 : DType::kBFloat16);
    if (seed % 4 == 0) c.problem.rule.input_rounding = numerics::InputRounding::kHfloat32x11;
    MakeOneInfinite(&c, seed);
    if (!RunIfServed(&c, "joint_planes", kAllGradients)) continue;
    ExpectGradientClasses(c, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

// Planes of output gradients without zeros around them, some of them in several bands.
TEST_P(JointPlanesAlgorithmTest, FindsTheEdgesOfPlanes) {
  const kernels::ScopedTarget scoped(GetParam());
  const int64_t heights[] = {3, 5, 6, 7, 8, 14, 33, 67}, widths[] = {1, 2, 7, 14, 16, 17, 33, 80, 990};
  const DType types[] = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Draw draw(seed);
    Geometry g;
    g.batch = draw(1, 3);
    g.groups = g.input_channels = g.output_channels = draw(1, 3);
    g.input_size = g.output_size = {draw(1, 2), heights[draw(0, 7)], widths[draw(0, 8)]};
    const DType type = types[draw(0, 2)];
    g.kernel = {type == DType::kFloat32 && draw(0, 1) == 0 ? 3 : 1, 3, 3};
    g.pad_begin = {g.kernel[0] / 2, 1, 1};
    const bool infinite = seed % 5 == 4;
    Case c = PlainCase(g, seed, type, &draw);
    const bool rounded = type == DType::kFloat32 && draw(0, 1) == 0;
    if (rounded) MakeRounded(&c);
    if (infinite) MakeOneInfinite(&c, seed);
    const uint8_t wanted = infinite ? kAllGradients : kJointSets[seed % 4];
    const uint8_t served = RunAlgorithm(&c, "joint_planes", wanted);
    EXPECT_TRUE(served == wanted || (type != DType::kFloat32 && served != 0));  // one by one others may take less work
    if (infinite) {
      ExpectGradientClasses(c, "seed " + std::to_string(seed));
    } else {
      // BF16 holds whole numbers up to 256, FP32 not all sums of these products.
      const double tolerance = type != DType::kFloat32 ? 4e-3 : rounded ? 1e-5 : 0;
      ExpectGradients(c, wanted, rounded ? 1e-5 : 0, tolerance, "seed " + std::to_string(seed));
    }
    if (HasFailure()) return;
  }
}

// Many channels, so that jobs have several, of planes in place and in sheets.
TEST_P(JointPlanesAlgorithmTest, TakesSeveralChannelsAtOnce) {
  const kernels::ScopedTarget scoped(GetParam());
  const int64_t sizes[] = {4, 7, 14, 17, 28}, offsets[] = {1, 3, 3, 5, 7};
  const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  int served = 0;
  for (uint32_t seed = 0; seed < 160; ++seed) {
    Draw draw(seed);
    Geometry g;
    g.batch = draw(2, 9);
    g.groups = g.input_channels = g.output_channels = draw(33, 50);
    g.input_size = {1, sizes[draw(0, 4)], sizes[draw(0, 4)]};
    g.kernel = {1, offsets[draw(0, 4)], offsets[draw(0, 4)]};
    g.stride[1] = g.stride[2] = draw(1, 2);
    for (int a = 0; a < 3; ++a) {
      g.pad_begin[a] = g.kernel[a] / 2;
      g.output_size[a] = (g.input_size[a] - 1) / g.stride[a] + 1;
    }
    const bool infinite = seed % 8 == 7;
    const DType type = types[seed % 4];
    Case c = PlainCase(g, seed, type, &draw);
    if (infinite) MakeOneInfinite(&c, seed);
    const uint8_t wanted = infinite ? kAllGradients : kJointSets[draw(0, 3)];
    const uint8_t own = RunAlgorithm(&c, "joint_planes", wanted);
    if (own == 0) continue;
    served += own == wanted;
    const std::string trace = "seed " + std::to_string(seed);
    const double tolerance = type == DType::kFloat32 ? 0 : 4e-3;  // BF16 holds whole numbers up to 256
    infinite ? ExpectGradientClasses(c, trace) : ExpectGradients(c, wanted, 0, tolerance, trace);
    if (HasFailure()) return;
  }
  EXPECT_GT(served, 80);
}

TEST_P(JointPlanesAlgorithmTest, LaysNoSheetsUnder3x3Kernels) {
  const kernels::ScopedTarget scoped(GetParam());
  if (kernels::JointPlanes().narrow[kernels::kJointBoth] == nullptr) GTEST_SKIP() << "they need lanes that move";
  Geometry g;
  g.batch = g.groups = g.input_channels = g.output_channels = 3;
  g.input_size = g.output_size = {1, 14, 14};
  g.kernel = {1, 3, 3};
  g.pad_begin = {0, 1, 1};
  for (const uint8_t wanted : {kJointSets[0], kJointSets[1], kJointSets[2], kJointSets[3]}) {
    for (const DType type : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
      Draw draw(wanted);
      Case c = PlainCase(g, 0, type, &draw);
      plan::WorkspaceLedger ledger;
      EXPECT_EQ(joint_planes::JointStep(c.problem, wanted, &ledger).Describe().find("nothing in sheets"), 0u);
    }
    for (const int64_t width : {14, 28}) {  // a vector, and more
      g.input_size[2] = g.output_size[2] = width;
      Draw draw(wanted);
      Case c = PlainCase(g, 0, DType::kFloat32, &draw);
      MakeRounded(&c);
      plan::WorkspaceLedger ledger;
      EXPECT_EQ(joint_planes::JointStep(c.problem, wanted, &ledger).Describe().find("nothing in sheets"), 0u);
    }
    g.input_size[2] = g.output_size[2] = 14;
  }
}

// Where every output is one position's own.
TEST_P(JointPlanesAlgorithmTest, LaysNoSheetsUnderSquareKernelsWithAStrideOfTwo) {
  const kernels::ScopedTarget scoped(GetParam());
  if (kernels::JointPlanes().doubled[kernels::kJointBoth][3] == nullptr) {
    GTEST_SKIP() << "they need masks and 32 registers";
  }
  Geometry g;
  g.batch = g.groups = g.input_channels = g.output_channels = 3;
  g.stride = {1, 2, 2};
  g.input_size = {1, 28, 33};
  for (const int64_t size : {3, 5}) {
    g.kernel = {1, size, size};
    for (int64_t pad = 0; pad < size; ++pad) {
      g.pad_begin = {0, pad, pad};
      g.output_size = {1, 1, 1};
      for (int a = 1; a < 3; ++a) g.output_size[a] = (g.input_size[a] + 2 * pad - size) / 2 + 1;
      for (const bool rounds : {false, true}) {
        for (const uint8_t wanted : kJointSets) {
          Draw draw(wanted);
          Case c = PlainCase(g, 0, DType::kFloat32, &draw);
          if (rounds) MakeRounded(&c);
          plan::WorkspaceLedger ledger;
          const std::string described = joint_planes::JointStep(c.problem, wanted, &ledger).Describe();
          EXPECT_EQ(described.find("nothing in sheets") == 0, pad <= size / 2)
              << described << " of size " << size << " with a padding of " << pad << ", rounds " << rounds
              << ", wanted " << int{wanted};
        }
      }
    }
  }
}

// The step lays nothing in sheets and computes what the formula says. `exact`: in FP32, which is not rounded.
void ExpectNothingInSheets(Case* c, uint8_t wanted, bool rounded, bool exact, const std::string& trace) {
  plan::WorkspaceLedger ledger;
  const std::string described = joint_planes::JointStep(c->problem, wanted, &ledger).Describe();
  EXPECT_EQ(described.find("nothing in sheets"), 0u) << described << ", " << trace;
  EXPECT_EQ(RunAlgorithm(c, "joint_planes", wanted), wanted) << trace;
  // BF16 holds whole numbers up to 256, FP32 not all sums of rounded products.
  ExpectGradients(*c, wanted, rounded ? 1e-5 : 0, rounded ? 1e-5 : exact ? 0 : 4e-3, trace);
}

// 16-bit results of all of them take one pass.
TEST_P(JointPlanesAlgorithmTest, GivesAllGradientsOf5x5KernelsWithAStrideOfTwoInOnePass) {
  const kernels::ScopedTarget scoped(GetParam());
  if (kernels::JointPlanes().doubled[kernels::kJointBoth][5] == nullptr) {
    GTEST_SKIP() << "they need masks and 32 registers";
  }
  const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  for (uint32_t seed = 0; seed < 80; ++seed) {
    Draw draw(seed);
    Geometry g;
    g.batch = draw(1, 3);
    g.groups = g.input_channels = g.output_channels = draw(1, 20);
    g.kernel = {1, 5, 5};
    g.stride = {1, 2, 2};
    g.input_size = {1, draw(5, 90), draw(5, 90)};
    g.output_size = {1, 1, 1};
    for (int a = 1; a < 3; ++a) {
      g.pad_begin[a] = draw(0, 2);
      g.output_size[a] = (g.input_size[a] + 2 * g.pad_begin[a] - 5) / 2 + 1;
    }
    Case c = PlainCase(g, 0, types[seed % 4], &draw);
    const bool rounded = seed % 4 == 1;
    if (rounded) MakeRounded(&c);
    const std::string trace = "seed " + std::to_string(seed);
    ExpectNothingInSheets(&c, kJointSets[draw(0, 3)], rounded, types[seed % 4] == DType::kFloat32, trace);
    if (HasFailure()) return;
  }
}

// Of these kernels one gradient's registers are all there are, so that the bias gradient goes with the input's.
TEST_P(JointPlanesAlgorithmTest, LaysNoSheetsUnder5x5And7x7Kernels) {
  const kernels::ScopedTarget scoped(GetParam());
  if (kernels::JointPlanes().rolling[kernels::kJointData][5] == nullptr) GTEST_SKIP() << "they need moving lanes";
  const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  for (uint32_t seed = 0; seed < 80; ++seed) {
    Draw draw(seed);
    const int64_t offsets = seed % 5 < 2 ? 7 : 5, pad = draw(0, offsets - 1);
    Geometry g;
    g.batch = draw(1, 3);
    g.groups = g.input_channels = g.output_channels = draw(1, 20);
    g.kernel = {1, offsets, offsets};
    g.input_size = g.output_size = {1, draw(1, 70), draw(1, seed % 9 == 0 ? 300 : 70)};
    g.pad_begin = {0, pad, pad};
    for (int a = 1; a < 3; ++a) {
      g.input_size[a] = std::max(g.input_size[a], offsets - 2 * pad);
      g.output_size[a] = g.input_size[a] + 2 * pad - offsets + 1;
    }
    Case c = PlainCase(g, 0, types[seed % 4], &draw);  // of one type
    const bool rounded = seed % 4 == 0;
    if (rounded) MakeRounded(&c);
    const uint8_t wanted = kJointSets[seed / 4 % 4];
    const std::string trace = "seed " + std::to_string(seed);
    ExpectNothingInSheets(&c, wanted, rounded, seed % 4 == 1, trace);
    if (HasFailure()) return;
  }
}

TEST_P(JointPlanesAlgorithmTest, LaysNoSheetsUnderSmallPlanes) {
  const kernels::ScopedTarget scoped(GetParam());
  if (kernels::JointPlanes().folded[kernels::kJointBoth][3] == nullptr) GTEST_SKIP() << "they need moving lanes";
  const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  int alike = 0;
  for (uint32_t seed = 0; seed < 240; ++seed) {
    Draw draw(seed);
    const int64_t offsets = 3 + 2 * (seed % 3), pad = offsets / 2;
    Geometry g;
    g.batch = draw(1, 3);
    g.groups = g.input_channels = g.output_channels = draw(1, 90);
    g.kernel = {1, offsets, offsets};
    g.input_size = g.output_size = {1, draw(7, 8), draw(1, 8)};
    g.pad_begin = {0, pad, pad};
    Case c = PlainCase(g, 0, types[seed % 4], &draw);  // of one type
    const bool rounded = seed % 4 == 0;
    if (rounded) MakeRounded(&c);
    const uint8_t wanted = kJointSets[seed / 4 % 4];
    const std::string trace = "seed " + std::to_string(seed);
    const int64_t row = c.problem.output.strides[3];
    if (c.problem.input.strides[3] != row || c.problem.input_result.strides[3] != row) continue;
    ++alike;
    ExpectNothingInSheets(&c, wanted, rounded, seed % 4 == 1, trace);
    if (HasFailure()) return;
  }
  EXPECT_GT(alike, 60);
}

// Rows of whole lines, and rows of which only four or a plane's are; bands, strides, and images that begin between
// lines.
TEST_P(JointPlanesAlgorithmTest, WritesTheSamePastTheCaches) {
  const kernels::ScopedTarget scoped(GetParam());
  const int64_t heights[] = {5, 8, 28, 67}, widths[] = {4, 16, 28, 48, 112, 252, 272};
  int past = 0, together = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    Draw draw(seed);
    Geometry g;
    g.batch = draw(1, 3);
    g.groups = g.input_channels = g.output_channels = draw(1, 3);
    g.input_size = g.output_size = {1, heights[draw(0, 3)], widths[draw(0, 6)]};
    g.kernel = {1, 3, 3};
    g.pad_begin = {0, 1, 1};
    if (seed % 2 == 0) {
      if (seed % 4 == 0) {
        g.kernel = {1, 5, 5};
        g.pad_begin = {0, 2, 2};
      }
      g.stride = {1, 2, 2};
      for (int a = 1; a < 3; ++a) g.output_size[a] = (g.input_size[a] - 1) / 2 + 1;
    }
    Case c = PlainCase(g, seed, DType::kFloat32, &draw);
    if (seed % 6 == 0) c.problem.rule.input_rounding = numerics::InputRounding::kHfloat32x11;  // keeps small numbers
    const uint8_t wanted = kJointSets[seed % 5 % 4];
    const bool streamed = RunPastCaches(&c, "joint_planes", wanted);
    past += streamed;
    together += streamed && g.stride[2] == 2 && g.input_size[2] % 16 != 0;
    ExpectGradients(c, wanted, 0, 0, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  const bool able = kernels::JointPlanes().narrow[kernels::kJointBoth] != nullptr;
  EXPECT_GT(past, able ? 20 : -1);
  EXPECT_GT(together, able ? 5 : -1);
}

INSTANTIATE_TEST_SUITE_P(Targets, JointPlanesAlgorithmTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv
