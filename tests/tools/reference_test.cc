// SPDX-License-Identifier: Apache-2.0
// The operators' worked examples, and that every way of asking the reference gives the same.
#include "tools/reference.h"

#include <gtest/gtest.h>

#include "tools/case_list.h"
#include "tools/random_call.h"
#include "tools/tensor_data.h"

namespace canopy::tools {
namespace {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

InputValues Inputs(std::initializer_list<std::pair<CallTensor, Floats>> given) {
  InputValues inputs;
  for (const auto& [tensor, values] : given) inputs[static_cast<int>(tensor)] = values;
  return inputs;
}

Doubles Whole(const std::string& text, const InputValues& inputs, CallTensor output, const Precision& precision = {}) {
  const Case a_case = ReadTextLine(text, {});
  return Reference(a_case, inputs, precision).Whole(output);
}

TEST(Reference, AForwardConvolutionEqualsTheSumByHand) {
  const InputValues in =
      Inputs({{CallTensor::kInput, {1, 2, 3, 4, 5}}, {CallTensor::kWeight, {1, 10, 100}}, {CallTensor::kBias, {7}}});
  EXPECT_EQ(Whole("conv_forward ci1 co1 in5 k3 s2 p1 bias", in, CallTensor::kOutput), (Doubles{217, 439, 61}));
  EXPECT_EQ(Whole("conv_forward ci1 co1 in5 k3 s2 p2x0", in, CallTensor::kOutput), (Doubles{100, 321, 543}));
  EXPECT_EQ(Whole("conv_forward ci1 co1 in5 k3 s2 p0x2", in, CallTensor::kOutput), (Doubles{321, 543, 5}));
}

TEST(Reference, ATransposedForwardConvolutionEqualsTheSumByHand) {
  InputValues in =
      Inputs({{CallTensor::kInput, {1, 2, 3}}, {CallTensor::kWeight, {1, 10, 100}}, {CallTensor::kBias, {5}}});
  EXPECT_EQ(Whole("conv_forward ci1 co1 in3 k3 s2 p1 transposed op1 bias", in, CallTensor::kOutput),
            (Doubles{15, 107, 25, 208, 35, 305}));
  in = Inputs(
      {{CallTensor::kInput, {1, 2, 3, 4}}, {CallTensor::kWeight, {1, 10, 100, 1000}}, {CallTensor::kBias, {1, 2}}});
  EXPECT_EQ(Whole("conv_forward ci2 co2 in2 k2 g2 transposed bias", in, CallTensor::kOutput),
            (Doubles{2, 13, 21, 302, 3402, 4002}));
}

TEST(Reference, ATimeConvolutionEqualsTheSumsByHand) {
  const InputValues forward =
      Inputs({{CallTensor::kInput, {1, 2, 3}}, {CallTensor::kWeight, {10, 100}}, {CallTensor::kBias, {5}}});
  EXPECT_EQ(Whole("tbc_forward t3 ci1 co1 k2 pad1", forward, CallTensor::kOutput), (Doubles{105, 215, 325, 35}));
  const InputValues backward = Inputs(
      {{CallTensor::kGradOutput, {1, 2, 3, 4}}, {CallTensor::kInput, {1, 2, 3}}, {CallTensor::kWeight, {10, 100}}});
  const std::string text = "tbc_backward t3 ci1 co1 k2 pad1";
  EXPECT_EQ(Whole(text, backward, CallTensor::kGradInput), (Doubles{120, 230, 340}));
  EXPECT_EQ(Whole(text, backward, CallTensor::kGradWeight), (Doubles{20, 14}));
  EXPECT_EQ(Whole(text, backward, CallTensor::kGradBias), (Doubles{10}));
}

TEST(Reference, GradientsOfOnesCountTheTerms) {
  const InputValues ones = Inputs({{CallTensor::kGradOutput, Floats(196, 1)},
                                   {CallTensor::kInput, Floats(196, 1)},
                                   {CallTensor::kWeight, Floats(4, 1)}});
  const std::string text = "conv_backward n2 ci2 co2 in7x7 k1";
  EXPECT_EQ(Whole(text, ones, CallTensor::kGradInput), Doubles(196, 2));
  EXPECT_EQ(Whole(text, ones, CallTensor::kGradWeight), Doubles(4, 98));
  EXPECT_EQ(Whole(text, ones, CallTensor::kGradBias), Doubles(2, 98));
}

TEST(Reference, ADepthwiseConvolutionKeepsItsChannelsApart) {
  const InputValues in = Inputs({{CallTensor::kInput, {1, 2}}, {CallTensor::kWeight, {10, 20, 30, 40}}});
  EXPECT_EQ(Whole("depthwise_forward ci2 co4 in1x1 k1", in, CallTensor::kOutput), (Doubles{10, 20, 60, 80}));
}

TEST(Reference, MultiplicandsAreRoundedAndBiasGradientsAreNot) {
  const float odd = 1 + 0x1p-15f;  // beyond HFLOAT32 and FLOAT16
  const InputValues in =
      Inputs({{CallTensor::kGradOutput, {odd}}, {CallTensor::kInput, {odd}}, {CallTensor::kWeight, {odd}}});
  Precision precision;
  precision.rounding = numerics::InputRounding::kHfloat32x11;
  const std::string text = "conv_backward ci1 co1 in1 k1 math3";
  EXPECT_EQ(Whole(text, in, CallTensor::kGradInput, precision), (Doubles{1}));
  EXPECT_EQ(Whole(text, in, CallTensor::kGradBias, precision), (Doubles{odd}));
}

TEST(Reference, ABiasIsAddedUnrounded) {
  const float odd = 1 + 0x1p-15f;
  const InputValues in =
      Inputs({{CallTensor::kInput, {odd}}, {CallTensor::kWeight, {odd}}, {CallTensor::kBias, {odd}}});
  Precision precision;
  precision.rounding = numerics::InputRounding::kFloat16;
  EXPECT_EQ(Whole("conv_forward ci1 co1 in1 k1 math2 bias", in, CallTensor::kOutput, precision), (Doubles{1.0 + odd}));
}

TEST(Reference, OneElementIsThatOfTheWholeTensor) {
  for (uint64_t i = 0; i < 150; ++i) {
    const Case a_case = CaseOfCall(RandomCall(7, i));
    SCOPED_TRACE(a_case.text);
    InputValues inputs;
    for (int t = 0; t < kCallTensors; ++t) {
      if (a_case.tensors[t].present && !IsOutput(static_cast<CallTensor>(t)))
        inputs[t] = DrawValues(a_case.tensors[t], t);
    }
    const Reference reference(a_case, inputs, {});
    if (reference.Flops() > 2e6) continue;
    for (const CallTensor output : WantedOutputs(a_case)) {
      const Doubles whole = reference.Whole(output);
      for (size_t e = 0; e < whole.size(); e += 1 + whole.size() / 100) {
        ASSERT_NEAR(reference.At(output, static_cast<int64_t>(e)), whole[e], 1e-10) << "element " << e;
      }
    }
  }
}

TEST(Precision, FollowsProductTypeAndCubeMathType) {
  using numerics::InputRounding;
  const auto rounding = [](const std::string& text, const char* soc) {
    return PrecisionOf(ReadTextLine(text, {}), soc).rounding;
  };
  const std::string f32 = "conv_backward ci1 co1 in1 k1";
  for (const char* soc : {"Ascend910B1", "Ascend910B4-1", "Ascend910_9392"}) {
    EXPECT_EQ(rounding(f32 + " math0", soc), InputRounding::kNone);
    EXPECT_EQ(rounding(f32 + " math1", soc), InputRounding::kHfloat32x11);
    EXPECT_EQ(rounding(f32 + " math2", soc), InputRounding::kFloat16);
    EXPECT_EQ(rounding(f32 + " math3", soc), InputRounding::kHfloat32x11);
    EXPECT_FALSE(PrecisionOf(ReadTextLine(f32, {}), soc).saturate);
  }
  EXPECT_EQ(rounding(f32 + " math3", "Ascend950PR_9589"), InputRounding::kHfloat32x10);
  for (const char* soc : {"Ascend910A", "Ascend910B", "Ascend910ProB", "Ascend310P3"}) {
    EXPECT_EQ(rounding(f32 + " math1", soc), InputRounding::kFloat16);
    EXPECT_TRUE(PrecisionOf(ReadTextLine(f32, {}), soc).saturate);
  }
  EXPECT_EQ(rounding(f32 + " bf16 math2", "Ascend910B1"), InputRounding::kNone);
  EXPECT_EQ(rounding(f32 + " f16 math3 weight:bf16", "Ascend910B1"), InputRounding::kHfloat32x11);
}

}  // namespace
}  // namespace canopy::tools
