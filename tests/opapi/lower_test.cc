// SPDX-License-Identifier: Apache-2.0
// What becomes of a checked call: the canonical problem, and which tensor plays which part in it.
#include "opapi/conv_depthwise2d/lower.h"

#include <gtest/gtest.h>

#include "opapi/conv_tbc/lower.h"
#include "opapi/conv_tbc_backward/lower.h"
#include "opapi/convolution/lower.h"
#include "opapi/convolution_backward/lower.h"
#include "tests/opapi/rule_table.h"

namespace canopy::tests {
namespace {

using conv::Extent3;
using opapi::Lowered;
using opapi::Role;
using Strides = std::array<int64_t, 5>;

conv::Call CallOf(const char* text) {
  conv::Call call;
  const base::Status status = conv::ParseCall(text, &call);
  EXPECT_TRUE(status.ok()) << status.message();
  return call;
}

// "gradOutput:output input:input ..." in the order of the executor's tensors.
std::string Parts(const Lowered& lowered) {
  constexpr const char* kRoles[] = {"input",         "weight",        "output",      "bias", "input_result",
                                    "weight_result", "output_result", "bias_result", "zeros"};
  std::string text;
  for (int i = 0; i < lowered.binding_count; ++i) {
    if (i > 0) text += ' ';
    text.append(lowered.bindings[i].tensor->name)
        .append(":")
        .append(kRoles[static_cast<int>(lowered.bindings[i].role)]);
  }
  return text;
}

const product::Product& kA2 = *product::FindProduct("Ascend910B1");

namespace backward = opapi::convolution_backward;

TEST(LowerTest, OneSpatialAxisIsTheWidth) {
  const backward::Arguments a = backward::FromCall(CallOf("conv_backward f32 n2 ci4 co6 in9 k3 s2 p1 d2"));
  const Lowered lowered = backward::Lower(a, kA2);
  const conv::Geometry& g = lowered.problem.geometry;
  EXPECT_EQ(g.input_size, (Extent3{1, 1, 9}));
  EXPECT_EQ(g.output_size, (Extent3{1, 1, 4}));
  EXPECT_EQ(g.kernel, (Extent3{1, 1, 3}));
  EXPECT_EQ(g.stride, (Extent3{1, 1, 2}));
  EXPECT_EQ(g.dilation, (Extent3{1, 1, 2}));
  EXPECT_EQ(g.pad_begin, (Extent3{0, 0, 1}));
  EXPECT_EQ(lowered.problem.input.strides, (Strides{36, 9, 9, 9, 1}));
  EXPECT_EQ(lowered.problem.computations, conv::kBackwardData | conv::kBackwardWeights | conv::kBiasFromOutput);
  EXPECT_EQ(Parts(lowered),
            "gradOutput:output weight:weight input:input gradInput:input_result gradWeight:weight_result "
            "gradBias:bias_result");
}

TEST(LowerTest, FourPaddingsGiveTheirLowSides) {
  const backward::Arguments a = backward::FromCall(CallOf("conv_backward f32 n1 ci1 co1 in8x9 k3 p0x2x1x0"));
  EXPECT_EQ(backward::Lower(a, kA2).problem.geometry.pad_begin, (Extent3{0, 0, 1}));
}

TEST(LowerTest, TransposedExchangesInputAndGradOutput) {
  const backward::Arguments a =
      backward::FromCall(CallOf("conv_backward f16 n2 ci4 co6 in5x5 k3 s2 p1 op1 g2 transposed"));
  const Lowered lowered = backward::Lower(a, kA2);
  const conv::Geometry& g = lowered.problem.geometry;
  EXPECT_EQ(g.input_channels, 6);
  EXPECT_EQ(g.output_channels, 4);
  EXPECT_EQ(g.input_size, (Extent3{1, 10, 10}));
  EXPECT_EQ(g.output_size, (Extent3{1, 5, 5}));
  EXPECT_EQ(lowered.problem.computations, conv::kForward | conv::kBackwardWeights | conv::kBiasFromInput);
  EXPECT_EQ(Parts(lowered),
            "gradOutput:input weight:weight input:output gradInput:output_result gradWeight:weight_result "
            "gradBias:bias_result");
}

TEST(LowerTest, OnlyWhatIsReadOrWrittenIsBound) {
  backward::Arguments a = backward::FromCall(CallOf("conv_backward f16 n2 ci4 co6 in5x5 k3 mask001"));
  EXPECT_EQ(Parts(backward::Lower(a, kA2)), "gradOutput:output gradBias:bias_result");
  a = backward::FromCall(CallOf("conv_backward f16 n2 ci4 co6 in5x5 k3 mask010"));
  EXPECT_EQ(Parts(backward::Lower(a, kA2)), "gradOutput:output input:input gradWeight:weight_result");
  a = backward::FromCall(CallOf("conv_backward f16 n2 ci4 co6 in5x5 k3 mask100"));
  EXPECT_EQ(Parts(backward::Lower(a, kA2)), "gradOutput:output weight:weight gradInput:input_result");
  a = backward::FromCall(CallOf("conv_backward f16 n2 ci4 co6 in5x5 k3 mask000"));
  EXPECT_EQ(Parts(backward::Lower(a, kA2)), "");
  EXPECT_EQ(backward::Lower(a, kA2).problem.computations, 0);
}

TEST(LowerTest, AnEmptyBatchAsksForZerosAndNoComputation) {
  const backward::Arguments a = backward::FromCall(CallOf("conv_backward f16 n0 ci4 co6 in5x5 k3"));
  const Lowered lowered = backward::Lower(a, kA2);
  EXPECT_EQ(lowered.problem.computations, 0);
  EXPECT_EQ(Parts(lowered), "gradWeight:zeros gradBias:zeros");
}

TEST(LowerTest, EqualProblemsOfDifferentUnitAxesLookEqual) {
  backward::Arguments a = backward::FromCall(CallOf("conv_backward f32 n1 ci4 co6 in1x9 k1x3"));
  backward::Arguments b = a;
  b.input.view.strides[0] = 12345;
  b.input.view.strides[2] = -7;
  EXPECT_EQ(backward::Lower(a, kA2).problem, backward::Lower(b, kA2).problem);
}

// A stride of 2^62, fine where the kernel has one place, once overflowed in the planner.
TEST(LowerTest, TheStrideOfOnePlaceAndTheDilationOfOneTapDoNotMatter) {
  const backward::Arguments a = backward::FromCall(CallOf("conv_backward f32 n1 ci4 co6 in3x9 k3x1"));
  backward::Arguments b = a;
  b.stride.view.values[0] = int64_t{1} << 62;
  b.dilation.view.values[1] = int64_t{1} << 62;
  EXPECT_EQ(backward::Lower(a, kA2).problem, backward::Lower(b, kA2).problem);
}

TEST(LowerTest, TheRuleFollowsTypeMathAndProduct) {
  using numerics::InputRounding;
  const auto rounding = [](const char* text, const char* product) {
    return backward::Lower(backward::FromCall(CallOf(text)), *product::FindProduct(product))
        .problem.rule.input_rounding;
  };
  EXPECT_EQ(rounding("conv_backward f32 n1 ci1 co1 in3 k1 math0", "Ascend910B1"), InputRounding::kNone);
  EXPECT_EQ(rounding("conv_backward f32 n1 ci1 co1 in3 k1 math1", "Ascend910B1"), InputRounding::kHfloat32x11);
  EXPECT_EQ(rounding("conv_backward f32 n1 ci1 co1 in3 k1 math3", "Ascend910_93"), InputRounding::kHfloat32x11);
  EXPECT_EQ(rounding("conv_backward f32 n1 ci1 co1 in3 k1 math3", "Ascend950"), InputRounding::kHfloat32x10);
  EXPECT_EQ(rounding("conv_backward f32 n1 ci1 co1 in3 k1 math2", "Ascend950"), InputRounding::kFloat16);
  EXPECT_EQ(rounding("conv_backward f32 n1 ci1 co1 in3 k1 math1", "Ascend310P"), InputRounding::kFloat16);
  EXPECT_EQ(rounding("conv_backward f16 n1 ci1 co1 in3 k1 math3", "Ascend310P"), InputRounding::kNone);
  EXPECT_EQ(rounding("conv_backward bf16 n1 ci1 co1 in3 k1 math2", "Ascend910B1"), InputRounding::kNone);
  EXPECT_EQ(rounding("conv_backward f16 n1 ci1 co1 in3 k1 input:bf16 math2", "Ascend910B1"), InputRounding::kFloat16);
}

TEST(LowerTest, TheRuleSaturatesAsTheProductUsuallyDoes) {
  const backward::Arguments a = backward::FromCall(CallOf("conv_backward f16 n1 ci1 co1 in3 k1"));
  EXPECT_TRUE(backward::Lower(a, *product::FindProduct("Ascend310P")).problem.rule.saturate);
  EXPECT_FALSE(backward::Lower(a, kA2).problem.rule.saturate);
}

TEST(LowerTest, TbcAxesAreWidthBatchChannel) {
  namespace op = opapi::conv_tbc_backward;
  const op::Arguments a = op::FromCall(CallOf("tbc_backward f32 t5 b3 ci2 co4 k2 pad1"));
  const Lowered lowered = op::Lower(a, kA2);
  const conv::ConvProblem& p = lowered.problem;
  EXPECT_EQ(p.geometry.batch, 3);
  EXPECT_EQ(p.geometry.input_channels, 2);
  EXPECT_EQ(p.geometry.output_channels, 4);
  EXPECT_EQ(p.geometry.input_size, (Extent3{1, 1, 5}));
  EXPECT_EQ(p.geometry.output_size, (Extent3{1, 1, 6}));
  EXPECT_EQ(p.geometry.kernel, (Extent3{1, 1, 2}));
  EXPECT_EQ(p.geometry.pad_begin, (Extent3{0, 0, 1}));
  EXPECT_EQ(p.input.strides[0], 2);
  EXPECT_EQ(p.input.strides[1], 1);
  EXPECT_EQ(p.input.strides[4], 6);
  EXPECT_EQ(p.weight.strides[0], 1);
  EXPECT_EQ(p.weight.strides[1], 4);
  EXPECT_EQ(p.weight.strides[4], 8);
  EXPECT_EQ(p.bias_result.strides[1], 1);
}

TEST(LowerTest, TbcStepsAndImagesOfOneTapAreOneRow) {
  namespace op = opapi::conv_tbc_backward;
  const auto lowered = [](const char* text) {
    const op::Arguments a = op::FromCall(CallOf(text));
    return op::Lower(a, kA2).problem;
  };
  const conv::ConvProblem joined = lowered("tbc_backward f32 t5 b3 ci2 co4 k1 pad0");
  EXPECT_EQ(joined.geometry.batch, 1);
  EXPECT_EQ(joined.geometry.input_size, (Extent3{1, 1, 15}));
  EXPECT_EQ(joined.geometry.output_size, (Extent3{1, 1, 15}));
  EXPECT_EQ(joined.input.strides[4], 2);
  EXPECT_EQ(joined.input_result.strides[4], 2);
  EXPECT_EQ(joined.output.strides[4], 4);
  EXPECT_EQ(joined.output.strides[1], 1);
  // A tensor whose steps lie further apart, padding, or more taps.
  for (const char* text : {"tbc_backward f32 t5 b3 ci2 co4 k1 pad0 input:strides=12x2x1",
                           "tbc_backward f32 t5 b3 ci2 co4 k1 pad1", "tbc_backward f32 t5 b3 ci2 co4 k3 pad1"}) {
    EXPECT_EQ(lowered(text).geometry.batch, 3) << text;
  }
}

TEST(LowerTest, ForwardIsForwardAndTransposedForwardIsBackwardData) {
  namespace op = opapi::convolution;
  op::Arguments a = op::FromCall(CallOf("conv_forward f32 n2 ci4 co6 in8x8 k3 p1 bias"));
  Lowered lowered = op::Lower(a, kA2);
  EXPECT_EQ(lowered.problem.computations, conv::kForward);
  EXPECT_TRUE(lowered.problem.has_bias);
  EXPECT_EQ(Parts(lowered), "input:input weight:weight bias:bias output:output_result");
  a = op::FromCall(CallOf("conv_forward f32 n2 ci4 co6 in5x5 k3 s2 p1 op1 transposed"));
  lowered = op::Lower(a, kA2);
  EXPECT_EQ(lowered.problem.computations, conv::kBackwardData);
  EXPECT_FALSE(lowered.problem.has_bias);
  EXPECT_EQ(lowered.problem.geometry.input_size, (Extent3{1, 10, 10}));
  EXPECT_EQ(lowered.problem.geometry.output_size, (Extent3{1, 5, 5}));
  EXPECT_EQ(Parts(lowered), "input:output weight:weight output:input_result");
}

TEST(LowerTest, DepthwiseIsAGroupForEachChannel) {
  namespace op = opapi::conv_depthwise2d;
  const op::Arguments a = op::FromCall(CallOf("depthwise_forward f32 n2 ci4 co8 in8x8 k3 p1"));
  const Lowered lowered = op::Lower(a, kA2);
  EXPECT_EQ(lowered.problem.geometry.groups, 4);
  EXPECT_EQ(lowered.problem.geometry.group_output_channels(), 2);
  EXPECT_EQ(Parts(lowered), "self:input weight:weight out:output_result");
}

TEST(LowerTest, CallsSurviveTheirTextForm) {
  const char* lines[] = {
      "conv_backward bf16 n2 ci4 co6 in8x9 k3x2 s2x1 p1x0x2x1 d1x2 g2 op0x0 mask101 math3 input:f32",
      "conv_backward f32 n2 ci4 co6 in5x5 k3x3 s2x2 p1x1 d1x1 g1 transposed op1x1 mask111 math0 grad_input:null",
  };
  for (const char* line : lines) {
    const conv::Call call = CallOf(line);
    EXPECT_EQ(backward::ToText(backward::FromCall(call)), conv::FormatCall(call));
  }
  namespace forward = opapi::convolution;
  conv::Call call = CallOf("conv_forward f32 n2 ci4 co6 in5x5x5 k3 s2 p1 op1 transposed bias:bf16 input:channels_last");
  EXPECT_EQ(forward::ToText(forward::FromCall(call)), conv::FormatCall(call));
  call = CallOf("tbc_backward f16 t5 b3 ci2 co4 k2 pad1 math1 input:strides=12x4x2,offset=3");
  EXPECT_EQ(opapi::conv_tbc_backward::ToText(opapi::conv_tbc_backward::FromCall(call)), conv::FormatCall(call));
  call = CallOf("tbc_forward f16 t5 b3 ci2 co4 k2 pad1 bias:f32");
  EXPECT_EQ(opapi::conv_tbc::ToText(opapi::conv_tbc::FromCall(call)), conv::FormatCall(call));
  call = CallOf("depthwise_forward f16 n2 ci4 co8 in8x8 k3x2 bias");
  EXPECT_EQ(opapi::conv_depthwise2d::ToText(opapi::conv_depthwise2d::FromCall(call)), conv::FormatCall(call));
}

}  // namespace
}  // namespace canopy::tests
