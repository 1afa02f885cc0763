// SPDX-License-Identifier: Apache-2.0
#include "conv/call_text.h"

#include <gtest/gtest.h>

#include <random>

namespace canopy::conv {
namespace {

using numerics::DType;

Call Parsed(std::string_view text) {
  Call call;
  const base::Status status = ParseCall(text, &call);
  EXPECT_TRUE(status.ok()) << status.message();
  return call;
}

std::string Refusal(std::string_view text) {
  Call call;
  const base::Status status = ParseCall(text, &call);
  EXPECT_EQ(status.code(), 161002) << text;
  return status.message();
}

int64_t Draw(std::mt19937* random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(*random);
}

std::vector<int64_t> DrawAxes(std::mt19937* random, size_t count, int64_t low, int64_t high) {
  std::vector<int64_t> values;
  for (size_t i = 0; i < count; ++i) values.push_back(Draw(random, low, high));
  return values;
}

// Any call that the text form can say, sensible or not.
Call RandomCall(std::mt19937* random) {
  Call call;
  call.op = static_cast<CallOp>(Draw(random, 0, 4));
  const bool tbc = call.op == CallOp::kTbcBackward || call.op == CallOp::kTbcForward;
  const bool depthwise = call.op == CallOp::kDepthwiseForward;
  const size_t rank = tbc ? 1 : static_cast<size_t>(Draw(random, 1, 3));
  call.batch = Draw(random, 0, 9);
  call.input_channels = Draw(random, 0, 40);
  call.output_channels = Draw(random, 0, 40);
  call.input_size = DrawAxes(random, rank, 0, 30);
  call.kernel = DrawAxes(random, rank, 0, 9);
  call.stride = tbc ? std::vector<int64_t>{1} : DrawAxes(random, rank, -1, 4);
  call.dilation = tbc ? std::vector<int64_t>{1} : DrawAxes(random, rank, -1, 4);
  const bool both_ends = !tbc && rank < 3 && Draw(random, 0, 1) == 1;
  call.padding = DrawAxes(random, both_ends ? 2 * rank : rank, -3, 9);
  call.transposed = !tbc && !depthwise && Draw(random, 0, 1) == 1;
  call.output_padding = std::vector<int64_t>(rank, 0);
  if (!tbc && !depthwise) call.output_padding = DrawAxes(random, rank, 0, 1);
  call.groups = tbc ? 1 : depthwise ? call.input_channels : Draw(random, -1, 5);
  call.math = static_cast<int>(Draw(random, -1, 5));
  call.has_bias = tbc || (call.op != CallOp::kConvBackward && Draw(random, 0, 1) == 1);
  if (call.op == CallOp::kConvBackward) {
    for (bool& wanted : call.mask) wanted = Draw(random, 0, 1) == 1;
  }
  SetCallDType(&call, static_cast<DType>(Draw(random, 0, 4)));
  for (int i = 0; i < kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    if (!CallHasTensor(call, tensor) || Draw(random, 0, 2) != 0) continue;
    CallTensorForm& form = call.form(tensor);
    if (tensor != CallTensor::kInput) form.dtype = static_cast<DType>(Draw(random, 0, 4));
    form.offset = Draw(random, 0, 5);
    form.null = Draw(random, 0, 9) == 0;
    const size_t axes = CallShape(call, tensor).size();
    if (Draw(random, 0, 1) == 1) SetCallStrides(&call, tensor, DrawAxes(random, axes, -5, 1000));
    if (!tbc && axes > 2 && Draw(random, 0, 3) == 0) {
      form.strides.clear();
      form.layout = CallLayout::kChannelsLast;
    }
  }
  return call;
}

TEST(CallText, RandomCallsSurviveTheRoundTrip) {
  for (unsigned seed = 0; seed < 5000; ++seed) {
    std::mt19937 random(seed);
    const Call call = RandomCall(&random);
    const std::string text = FormatCall(call);
    Call again;
    const base::Status status = ParseCall(text, &again);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << text << ": " << status.message();
    ASSERT_EQ(again, call) << "seed " << seed << ": " << text << " came back as " << FormatCall(again);
  }
}

TEST(CallText, TheCanonicalLinesOfTheDocumentationAreFixedPoints) {
  for (const char* text : {
           "conv_backward f32 n8 ci64 co128 in56x56 k3x3 s1x1 p1x1 d1x1 g1 mask111 math0",
           "tbc_backward f32 t45 b32 ci512 co512 k3 pad1 math0",
           "conv_backward bf16 n1 ci16 co8 in4x5x6 k2x2x2 s2x2x2 p0x0x0 d1x1x1 g2 transposed op1x0x1 mask101 math3",
           "conv_backward f16 n2 ci8 co8 in9x9 k3x3 s1x1 p0x1x2x3 d1x1 g8 mask010 math0 grad_weight:f32",
           "conv_forward f32 n1 ci3 co4 in8 k3 s1 p1x0 d1 g1 math1 bias",
           "tbc_forward f16 t7 b2 ci3 co4 k3 pad1 math0 bias:bf16",
           "depthwise_forward f32 n1 ci4 co8 in8x8 k3x3 s1x1 p1x1 d1x1 math0 bias:f16,offset=2",
           "conv_backward f32 n1 ci128 co128 in5x340 k1x1 s1x3 p0x0 d1x1 g1 mask111 math0 grad_output:channels_last "
           "input:strides=128x1x43520x128,offset=7 grad_bias:null",
       }) {
    EXPECT_EQ(FormatCall(Parsed(text)), text);
  }
}

TEST(CallText, FieldsLeftOutTakeTheirDefaults) {
  EXPECT_EQ(FormatCall(Parsed("conv_backward ci4 co5 in7x8 k3")),
            "conv_backward f32 n1 ci4 co5 in7x8 k3x3 s1x1 p0x0 d1x1 g1 mask111 math0");
  EXPECT_EQ(FormatCall(Parsed("tbc_forward t9 ci4 co5 k3")), "tbc_forward f32 t9 b1 ci4 co5 k3 pad0 math0");
  EXPECT_EQ(FormatCall(Parsed(" conv_forward  k2 in9 f16\tco5 ci4 p1 transposed\n")),
            "conv_forward f16 n1 ci4 co5 in9 k2 s1 p1 d1 g1 transposed op0 math0");
}

TEST(CallText, StridesThatSayNothingNewAreNotKept) {
  const Call call = Parsed("conv_backward n2 ci3 co4 in5x6 k1 input:strides=90x30x6x1 grad_input:strides=90x1x18x3");
  EXPECT_EQ(call.form(CallTensor::kInput).layout, CallLayout::kContiguous);
  EXPECT_EQ(call.form(CallTensor::kGradInput).layout, CallLayout::kChannelsLast);
}

TEST(CallText, ShapesFollowTheOperators) {
  using Shape = std::vector<int64_t>;
  const Call plain = Parsed("conv_backward n2 ci6 co4 in9x10 k3x2 s2x3 p1x0x2x1 d1x2 g2");
  EXPECT_EQ(CallShape(plain, CallTensor::kGradOutput), (Shape{2, 4, 4, 4}));
  EXPECT_EQ(CallShape(plain, CallTensor::kWeight), (Shape{4, 3, 3, 2}));
  const Call transposed = Parsed("conv_forward n2 ci6 co4 in9x10 k3x2 s2x3 p1x0 d1x2 g2 transposed op1x0");
  EXPECT_EQ(CallShape(transposed, CallTensor::kOutput), (Shape{2, 4, 18, 30}));
  EXPECT_EQ(CallShape(transposed, CallTensor::kWeight), (Shape{6, 2, 3, 2}));
  const Call tbc = Parsed("tbc_backward t5 b3 ci2 co4 k4 pad1");
  EXPECT_EQ(CallShape(tbc, CallTensor::kGradOutput), (Shape{4, 3, 4}));
  EXPECT_EQ(CallShape(tbc, CallTensor::kWeight), (Shape{4, 2, 4}));
  EXPECT_EQ(CallShape(tbc, CallTensor::kGradBias), (Shape{4}));
}

TEST(CallText, RefusedCallsHaveShapesToo) {
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(CallOutputSize(Parsed("conv_backward ci1 co1 in5x5 k9x1 s0x-1 d0x0 g0")), (Shape{0, 5}));
  // Just below what 64 bits hold; strides of such tensors do overflow and become 0.
  const Call huge = Parsed("conv_backward ci9 co9 in2147483647 k2147483647 s2147483647 d2147483647 transposed");
  EXPECT_EQ(CallOutputSize(huge), (Shape{9223372023969873925}));
  EXPECT_EQ(CallStrides(huge, CallTensor::kGradOutput), (Shape{0, 9223372023969873925, 1}));
}

TEST(CallText, ARefusalNamesTheFieldWhatItWasAndWhatIsAllowed) {
  const auto names = [](const std::string& message, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(message.find(part), message.npos) << message << " lacks " << part;
  };
  names(Refusal(""), {"operator", "conv_backward"});
  names(Refusal("conv_sideways ci1"), {"operator", "conv_sideways", "tbc_forward"});
  names(Refusal("conv_backward ci1 co1 in5 k3y"), {"\"k\"", "\"3y\"", "joined by x"});
  names(Refusal("conv_backward ci1 co1 in5x5 k3x3x3"), {"\"k\"", "3 numbers", "2 axes"});
  names(Refusal("conv_backward ci1 co1 in5x5 k3 p1x2x3"), {"\"p\"", "2D: also 4"});
  names(Refusal("conv_backward ci1 co1 in5x5x5x5 k3"), {"\"in\"", "5x5x5x5", "1 to 3"});
  names(Refusal("conv_backward ci-1 co1 in5 k3"), {"\"ci\"", "\"-1\"", "from 0 to 2147483647"});
  names(Refusal("conv_backward co1 in5 k3"), {"\"ci\" is missing", "co, in, k"});
  names(Refusal("conv_backward ci1 co1 in5 k3 k3"), {"\"k\" is given twice"});
  names(Refusal("conv_backward ci1 co1 in5 k3 mask11"), {"\"mask\"", "\"11\"", "three digits"});
  names(Refusal("conv_forward ci1 co1 in5 k3 mask111"), {"mask111", "math"});
  names(Refusal("conv_backward ci1 co1 in5 k3 f64"), {"f64", "bf16"});
  names(Refusal("conv_backward ci1 co1 in5 k3 output:f16"), {"output", "grad_weight"});
  names(Refusal("conv_backward ci1 co1 in5 k3 input:strides=1x2"), {"input", "strides=1x2", "3 numbers"});
  names(Refusal("conv_backward ci1 co1 in5 k3 math999999999999999999999"), {"\"math\"", "from -128 to 127"});
  names(Refusal("tbc_backward t5 ci1 co1 k3 s2"), {"s2", "padN"});
}

}  // namespace
}  // namespace canopy::conv
