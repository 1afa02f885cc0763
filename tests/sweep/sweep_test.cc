// SPDX-License-Identifier: Apache-2.0
// Random problems through the public interface, held against the oracle. Inputs of small whole numbers must come out
// bit-exact, others within the gate of their type; inputs, masked outputs and everything outside of views must be as
// it was. CANOPY_ALGORITHM=direct is set for this program: fast algorithms are not exact on whole numbers.
#include <gtest/gtest.h>

#include "tests/sweep/options.h"
#include "tests/sweep/problem.h"
#include "tools/case_list.h"
#include "tools/check_case.h"

namespace canopy::sweep {
namespace {

using tools::Case;
using tools::CaseReport;
using tools::CheckOptions;

constexpr double kWork = 1.5e6;  // multiply-adds of each result: milliseconds for the oracle

const tools::Runtime& TheRuntime() {
  static const tools::Runtime* runtime = new tools::Runtime();
  return *runtime;
}

std::string Faults(const CaseReport& report) {
  std::string text = report.message;
  for (const std::string& fault : report.faults) text += "\n  " + fault;
  for (const tools::OutputReport& output : report.outputs) {
    for (const std::string& fault : output.faults) {
      text += "\n  " + std::string(conv::CallTensorName(output.output)) + ": " + fault;
    }
  }
  return text;
}

void Expect(const Case& problem, const CheckOptions& options) {
  const CaseReport report = tools::CheckCase(problem, TheRuntime(), options);
  EXPECT_TRUE(report.passed()) << problem.id << (options.integers ? " (whole numbers)" : "") << "\n" << Faults(report);
}

CheckOptions Options(bool integers) {
  CheckOptions options;
  options.full = true;
  options.integers = integers;
  options.direct = true;
  options.odd_workspace = true;
  return options;
}

TEST(Sweep, RandomProblemsOfWholeNumbersAreBitExact) {
  const int64_t count = Count(1000);
  for (int64_t i = 0; i < count; ++i) Expect(MakeProblem(Seed() + i, kWork), Options(true));
}

TEST(Sweep, RandomProblemsKeepTheGateOfTheirType) {
  const int64_t count = Count(1000);
  for (int64_t i = 0; i < count; ++i) Expect(MakeProblem(Seed() + 1000000 + i, kWork), Options(false));
}

// A tenth of a per cent and more of Inf, -Inf and NaN among the inputs: they must show exactly where a window holds
// them. Padding is absent, not zero, and zeros are multiplied, not skipped.
TEST(Sweep, InfAndNanShowWhereTheWindowHoldsThemAndNowhereElse) {
  const int64_t count = Count(600);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t seed = Seed() + 2000000 + i;
    Case problem = MakeProblem(seed, kWork / 10);
    for (tools::TensorSpec& spec : problem.tensors) {
      spec.data = {tools::DataSpec::Kind::kIntegers, -2, 2};
      spec.data.special = seed % 3 == 0 ? 0.05 : 0.002;
    }
    Expect(problem, Options(false));
  }
}

// What random drawing seldom meets.
TEST(Sweep, NamedEdges) {
  for (const char* line : {
           // Whole windows of padding; results that only padding reaches are +0 (or the bias).
           "conv_backward n2 ci3 co4 in5x5 k3x3 p7x7",
           "conv_backward n2 ci3 co4 in5x5 k3x3 s4x4 p6x5x4x3",
           "conv_forward n2 ci3 co4 in5x5 k3x3 p7x7 bias",
           "conv_backward n1 ci2 co2 in6 k5 p4 d3 s2",
           "tbc_backward t3 b2 ci5 co4 k2 pad6",
           "tbc_forward t1 b2 ci5 co4 k3 pad1",
           // Kernels beyond their image, one placement.
           "conv_backward n2 ci3 co4 in2x3 k7x9 p3x3",
           "conv_backward n3 ci5 co2 in4x4x4 k4x4x4",
           // Strides beyond the kernel: input positions that no window touches get exactly 0.
           "conv_backward n2 ci3 co4 in17x19 k2x3 s5x7",
           "conv_backward n2 ci3 co4 in6x7 k1x2 s4x5 transposed op3x4",
           "conv_forward n2 ci3 co4 in6x7 k1x2 s4x5 transposed op3x4 bias",
           // Output padding beyond the stride, below the dilation.
           "conv_forward n1 ci3 co2 in5x6 k3x2 s1x2 d4x3 transposed op3x2",
           // One of everything, and one pixel with many channels.
           "conv_backward n1 ci1 co1 in1x1x1 k1x1x1",
           "conv_backward n1 ci65 co129 in1x1 k1x1",
           "conv_backward n65 ci1 co1 in3 k3 p1",
           // Depthwise, wide and narrow, and many groups of one.
           "conv_backward n2 ci33 co99 in9x9 k3x3 p1x1 g33",
           "conv_backward n2 ci66 co33 in9x9 k3x3 p1x1 g33",
           "conv_backward n2 ci17 co17 in4x5x6 k3x3x3 p1x1x1 g17",
           "conv_backward n2 ci34 co17 in5x6 k3x2 s2x2 g17 transposed op1x0",
           // Long sums: weight gradients over many positions.
           "conv_backward n4 ci2 co2 in120x120 k3x3 p1x1",
           "conv_backward f16 n8 ci1 co1 in4096 k1",
           // Views that share elements, or are read backwards in memory order of their axes.
           "conv_backward n2 ci4 co4 in6x6 k3x3 input:strides=0x36x6x1 weight:strides=0x9x3x1",
           "conv_backward n2 ci4 co4 in6x6 k3x3 grad_output:strides=0x0x0x0",
           "conv_backward n3 ci4 co4 in8 k3 input:strides=2x1x1",
           // Nothing to do, and little.
           "conv_backward n2 ci3 co4 in5x5 k3x3 mask000 grad_input:null grad_weight:null grad_bias:null",
           "conv_backward n2 ci3 co4 in5x5 k3x3 mask001 grad_input:null grad_weight:null",
           "conv_backward n0 ci3 co4 in5x5 k3x3",
           "conv_backward n0 ci3 co4 in5 k3 s2 transposed op1 f16",
           "conv_backward n0 ci2 co4 in3x4x5 k3x3x3 bf16 mask010",
           "conv_forward n0 ci3 co4 in5x5 k3x3 bias",
           "conv_forward n2 ci3 co0 in5x5 k3x3",
       }) {
    Case problem = tools::ReadTextLine(line, {});
    problem.id = line;
    AddMargins(&problem);
    for (const bool integers : {true, false}) Expect(problem, Options(integers));
  }
}

}  // namespace
}  // namespace canopy::sweep
