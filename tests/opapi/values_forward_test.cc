// SPDX-License-Identifier: Apache-2.0
// Results that can be worked out on paper, for the default product.
#include "aclnnop/aclnn_convolution.h"
#include "tests/opapi/calls.h"

namespace canopy::tests {
namespace {

using Floats = std::vector<float>;
using Shape = std::vector<int64_t>;

class ForwardValuesTest : public DeviceTest {
 protected:
  void Expect(const Shape& input, const Floats& x, const Shape& weight, const Floats& w, const Floats& bias,
              const ConvAttributes& attributes, const Shape& output, const Floats& expected) {
    const DeviceTensor xt({.shape = input}, x), wt({.shape = weight}, w);
    const DeviceTensor bt({.shape = {static_cast<int64_t>(bias.size())}}, bias), yt({.shape = output}, -7);
    TwoPhases call = Convolution(xt, wt, bias.empty() ? nullptr : &bt, attributes, yt);
    ASSERT_EQ(call.first, 0) << RecentMessage();
    ASSERT_EQ(call.Run(&aclnnConvolution, stream), 0) << RecentMessage();
    EXPECT_EQ(yt.Values(), expected);
  }

  void ExpectTbc(const Shape& self, const Floats& x, const Shape& weight, const Floats& w, const Floats& bias,
                 int64_t pad, const Shape& output, const Floats& expected) {
    const DeviceTensor xt({.shape = self}, x), wt({.shape = weight}, w), yt({.shape = output}, -7);
    const DeviceTensor bt({.shape = {static_cast<int64_t>(bias.size())}}, bias);
    TwoPhases call = ConvTbc(xt, wt, bt, pad, 1, yt);
    ASSERT_EQ(call.first, 0) << RecentMessage();
    ASSERT_EQ(call.Run(&aclnnConvTbc, stream), 0) << RecentMessage();
    EXPECT_EQ(yt.Values(), expected);
  }
};

TEST_F(ForwardValuesTest, Plain1d) {
  const Floats x{1, 2, 3, 4, 5};
  ConvAttributes attributes = Uniform(1, 2, 1);
  Expect({1, 1, 5}, x, {1, 1, 3}, {1, 10, 100}, {7}, attributes, {1, 1, 3}, {217, 439, 61});
  attributes.padding = {2, 0};
  Expect({1, 1, 5}, x, {1, 1, 3}, {1, 10, 100}, {}, attributes, {1, 1, 3}, {100, 321, 543});
  attributes.padding = {0, 2};
  Expect({1, 1, 5}, x, {1, 1, 3}, {1, 10, 100}, {}, attributes, {1, 1, 3}, {321, 543, 5});
  Expect({1, 1, 5}, x, {1, 1, 2}, {1, 10}, {}, Uniform(1, 1, 0, 3), {1, 1, 2}, {41, 52});
}

TEST_F(ForwardValuesTest, GroupsKeepToTheirChannels) {
  ConvAttributes attributes = Uniform(1);
  attributes.groups = 2;
  Expect({1, 2, 2}, {1, 2, 3, 4}, {2, 1, 1}, {10, 100}, {1, 2}, attributes, {1, 2, 2}, {11, 21, 302, 402});
}

TEST_F(ForwardValuesTest, Transposed1d) {
  ConvAttributes attributes = Uniform(1, 2);
  attributes.transposed = true;
  Expect({1, 1, 3}, {1, 2, 3}, {1, 1, 3}, {1, 10, 100}, {}, attributes, {1, 1, 7}, {1, 10, 102, 20, 203, 30, 300});
  attributes.padding = {1};
  attributes.output_padding = {1};
  Expect({1, 1, 3}, {1, 2, 3}, {1, 1, 3}, {1, 10, 100}, {5}, attributes, {1, 1, 6}, {15, 107, 25, 208, 35, 305});
  attributes = Uniform(1, 1, 0, 2);
  attributes.transposed = true;
  attributes.output_padding = {1};
  Expect({1, 1, 2}, {1, 2}, {1, 1, 2}, {1, 10}, {}, attributes, {1, 1, 5}, {1, 2, 10, 20, 0});
}

TEST_F(ForwardValuesTest, TransposedGroups) {
  ConvAttributes attributes = Uniform(1);
  attributes.transposed = true;
  attributes.groups = 2;
  Expect({1, 2, 2}, {1, 2, 3, 4}, {2, 1, 2}, {1, 10, 100, 1000}, {1, 2}, attributes, {1, 2, 3},
         {2, 13, 21, 302, 3402, 4002});
}

TEST_F(ForwardValuesTest, OnesIn2d) {
  ConvAttributes attributes;
  attributes.math = 1;
  Expect({2, 2, 2, 2}, Floats(16, 1), {1, 2, 1, 1}, {1, 1}, {}, attributes, {2, 1, 2, 2}, Floats(8, 2));
}

TEST_F(ForwardValuesTest, TransposedOnesGrowAndShrink) {
  const Floats line{1, 2, 1};
  for (size_t rank = 1; rank <= 3; ++rank) {
    Shape input{1, 16}, weight{16, 16}, output{1, 16};
    Floats image{16};
    for (size_t axis = 0; axis < rank; ++axis) {
      input.push_back(2);
      weight.push_back(2);
      output.push_back(3);
      Floats grown;
      for (float outer : image) {
        for (float inner : line) grown.push_back(outer * inner);
      }
      image = grown;
    }
    Floats expected;
    for (int channel = 0; channel < 16; ++channel) expected.insert(expected.end(), image.begin(), image.end());
    ConvAttributes attributes = Uniform(rank);
    attributes.transposed = true;
    Expect(input, Floats(16u << rank, 1), weight, Floats(256u << rank, 1), {}, attributes, output, expected);
  }
}

TEST_F(ForwardValuesTest, TbcWorkedPoints) {
  ExpectTbc({2, 2, 3}, Floats(12, 1), {3, 3, 4}, Floats(36, 1), Floats(4, 1), 1, {2, 2, 4}, Floats(16, 7));
  ExpectTbc({3, 1, 1}, {1, 2, 3}, {2, 1, 1}, {10, 100}, {5}, 0, {2, 1, 1}, {215, 325});
  ExpectTbc({3, 1, 1}, {1, 2, 3}, {2, 1, 1}, {10, 100}, {5}, 1, {4, 1, 1}, {105, 215, 325, 35});
  ExpectTbc({5, 1, 2}, Floats(10, 1), {3, 2, 2}, Floats(12, 1), {0, 0}, 1, {5, 1, 2}, {4, 4, 6, 6, 6, 6, 6, 6, 4, 4});
}

TEST_F(ForwardValuesTest, TbcOfNothingIsItsBias) {
  Floats expected;
  for (int row = 0; row < 4; ++row) expected.insert(expected.end(), {1, 2, 3});
  ExpectTbc({2, 2, 0}, {}, {3, 0, 3}, {}, {1, 2, 3}, 1, {2, 2, 3}, expected);
  ExpectTbc({0, 2, 2}, {}, {1, 2, 3}, Floats(6, 9), {1, 2, 3}, 1, {2, 2, 3}, expected);
}

TEST_F(ForwardValuesTest, EmptyOutputsNeedNothing) {
  const DeviceTensor x({.shape = {0, 2, 3, 3}}, Floats()), w({.shape = {4, 2, 3, 3}}, 1),
      y({.shape = {0, 4, 1, 1}}, Floats());
  TwoPhases call = Convolution(x, w, nullptr, {}, y);
  ASSERT_EQ(call.first, 0) << RecentMessage();
  EXPECT_EQ(call.workspace_size, 0u);
  EXPECT_EQ(call.Run(&aclnnConvolution, stream), 0);
}

TEST_F(ForwardValuesTest, BiasIsAddedUnrounded) {
  // In FLOAT16 the bias' last bits would be lost before the sum brings them into range.
  const DeviceTensor x({.shape = {1, 1, 1}, .dtype = ACL_FLOAT16}, -1024),
      w({.shape = {1, 1, 1}, .dtype = ACL_FLOAT16}, 1);
  const DeviceTensor b({.shape = {1}}, 1024.125F), y({.shape = {1, 1, 1}, .dtype = ACL_FLOAT16}, 0);
  TwoPhases call = Convolution(x, w, &b, Uniform(1), y);
  ASSERT_EQ(call.first, 0) << RecentMessage();
  ASSERT_EQ(call.Run(&aclnnConvolution, stream), 0);
  EXPECT_EQ(y.Values(), Floats{0.125F});
}

TEST_F(ForwardValuesTest, DepthwiseKeepsChannelsApart) {
  const DeviceTensor x({.shape = {1, 2, 1, 3}}, Floats{1, 2, 3, 4, 5, 6});
  const DeviceTensor w({.shape = {4, 1, 1, 2}}, Floats{1, 10, 2, 20, 3, 30, 4, 40}),
      b({.shape = {4}}, Floats{0, 1, 2, 3});
  const DeviceTensor y({.shape = {1, 4, 1, 2}}, -7);
  TwoPhases call = ConvDepthwise2d(x, w, &b, {1, 2}, {}, y);
  ASSERT_EQ(call.first, 0) << RecentMessage();
  ASSERT_EQ(call.Run(&aclnnConvDepthwise2d, stream), 0);
  EXPECT_EQ(y.Values(), (Floats{21, 32, 43, 65, 164, 197, 219, 263}));
}

}  // namespace
}  // namespace canopy::tests
