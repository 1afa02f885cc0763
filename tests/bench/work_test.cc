// SPDX-License-Identifier: Apache-2.0
#include "bench/work.h"

#include <gtest/gtest.h>

namespace canopy::bench {
namespace {

conv::Call Parse(const std::string& text) {
  conv::Call call;
  const base::Status status = conv::ParseCall(text, &call);
  EXPECT_TRUE(status.ok()) << text << ": " << status.message();
  return call;
}

// Multiply-adds of one gradient, counted one by one along each axis.
double Counted(const conv::Call& call) {
  const std::vector<int64_t> output = conv::CallOutputSize(call);
  double pairs = 1;
  for (size_t axis = 0; axis < output.size(); ++axis) {
    const bool both = call.padding.size() == 2 * output.size();
    const int64_t map = call.transposed ? output[axis] : call.input_size[axis];
    const int64_t windows = call.transposed ? call.input_size[axis] : output[axis];
    int64_t on_axis = 0;
    for (int64_t window = 0; window < windows; ++window) {
      for (int64_t k = 0; k < call.kernel[axis]; ++k) {
        const int64_t at = window * call.stride[axis] + k * call.dilation[axis] - call.padding[both ? 2 * axis : axis];
        on_axis += at >= 0 && at < map;
      }
    }
    pairs *= static_cast<double>(on_axis);
  }
  return pairs * static_cast<double>(call.batch * call.input_channels * call.output_channels / call.groups);
}

TEST(Work, KernelOffsetsInThePaddingAreNoOperations) {
  for (const char* text :
       {"conv_backward n2 ci3 co5 in7x7 k3 p1", "conv_backward n2 ci4 co8 in9x12 k3x5 s2x3 p1x2 d2x1 g4",
        "conv_backward n1 ci2 co2 in5x5 k3 p12 d12", "conv_backward n1 ci2 co2 in14x14 k31 p15 g2",
        "conv_backward n1 ci2 co2 in10x11 k4x3 p0x3x2x1 s3", "conv_backward n1 ci2 co3 in8x8 k4 s2 p1 transposed",
        "conv_backward n1 ci2 co3 in4x5x6 k2x3x1 s2 p1x1x0 op1x0x1 transposed", "conv_backward n3 ci4 co2 in100 k7 d9",
        "tbc_backward t9 b4 ci3 co2 k4 pad5", "conv_backward n1 ci1 co1 in3x3 k1 p4 s5"}) {
    const conv::Call call = Parse(text);
    EXPECT_EQ(WorkOf(call, What::kCall).flops, 4 * Counted(call)) << text;
  }
}

TEST(Work, EachTensorMovesOnce) {
  const conv::Call call = Parse("conv_backward f16 n2 ci3 co5 in6x6 k3");
  const double input = 2 * 2 * 3 * 36, weight = 2 * 5 * 3 * 9, output = 2 * 2 * 5 * 16, bias = 2 * 5;
  EXPECT_EQ(WorkOf(call, What::kCall).bytes, output + 2 * input + 2 * weight + bias);
  EXPECT_EQ(WorkOf(call, What::kData).bytes, output + weight + input);
  EXPECT_EQ(WorkOf(call, What::kWeights).bytes, output + weight + input);
  EXPECT_EQ(WorkOf(call, What::kBias).bytes, output + bias);
  EXPECT_EQ(WorkOf(call, What::kBias).flops, 0);
  EXPECT_EQ(TensorBytes(call), output + 2 * input + 2 * weight + bias);
}

TEST(Work, GradientsThatNobodyAsksForAreNoWork) {
  const conv::Call all = Parse("conv_backward n2 ci3 co5 in6x6 k3"), one = CallFor(all, What::kWeights);
  EXPECT_EQ(2 * WorkOf(one, What::kCall).flops, WorkOf(all, What::kCall).flops);
  EXPECT_EQ(WorkOf(one, What::kCall).bytes, WorkOf(all, What::kWeights).bytes);
}

}  // namespace
}  // namespace canopy::bench
