// SPDX-License-Identifier: Apache-2.0
// Gradients that can be worked out on paper, for the default product.
#include "aclnnop/aclnn_convolution_backward.h"
#include "tests/opapi/calls.h"

namespace canopy::tests {
namespace {

using Floats = std::vector<float>;

class BackwardValuesTest : public DeviceTest {
 protected:
  // Computes all three gradients of ones.
  void ExpectOnes(const std::vector<int64_t>& grad_output, const std::vector<int64_t>& input,
                  const std::vector<int64_t>& weight, const ConvAttributes& attributes, float grad_input_value,
                  float grad_weight_value, float grad_bias_value, aclFormat format = ACL_FORMAT_UNDEFINED) {
    const auto form = [&](const std::vector<int64_t>& shape) { return TensorForm{.shape = shape, .format = format}; };
    const DeviceTensor dy(form(grad_output), 1), x(form(input), 1), w(form(weight), 1);
    const DeviceTensor dx(form(input), -7), dw(form(weight), -7), db({.shape = {grad_output[1]}}, -7);
    TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {&dx, &dw, &db});
    ASSERT_EQ(call.first, 0) << RecentMessage();
    ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0) << RecentMessage();
    EXPECT_EQ(dx.Values(), Floats(dx.elements(), grad_input_value));
    EXPECT_EQ(dw.Values(), Floats(dw.elements(), grad_weight_value));
    EXPECT_EQ(db.Values(), Floats(db.elements(), grad_bias_value));
  }

  struct Tbc {
    std::vector<int64_t> self, input, weight;
    Floats self_values, input_values, weight_values;
    int64_t pad;
    Floats grad_input, grad_weight, grad_bias;
  };

  void ExpectTbc(const Tbc& c, aclFormat format) {
    const auto form = [&](const std::vector<int64_t>& shape) { return TensorForm{.shape = shape, .format = format}; };
    const DeviceTensor dy(form(c.self), c.self_values), x(form(c.input), c.input_values);
    const DeviceTensor w(form(c.weight), c.weight_values), bias({.shape = {c.weight[2]}}, 1);
    const DeviceTensor dx(form(c.input), -7), dw(form(c.weight), -7), db({.shape = {c.weight[2]}}, -7);
    TwoPhases call = ConvTbcBackward(dy, x, w, bias, c.pad, 1, {&dx, &dw, &db});
    ASSERT_EQ(call.first, 0) << RecentMessage();
    ASSERT_EQ(call.Run(&aclnnConvTbcBackward, stream), 0) << RecentMessage();
    EXPECT_EQ(dx.Values(), c.grad_input);
    EXPECT_EQ(dw.Values(), c.grad_weight);
    EXPECT_EQ(db.Values(), c.grad_bias);
  }
};

TEST_F(BackwardValuesTest, OnesIn2dGiveTheCountsOfTerms) {
  ConvAttributes attributes;
  attributes.math = 1;
  attributes.bias_sizes = {2};
  ExpectOnes({2, 2, 7, 7}, {2, 2, 7, 7}, {2, 2, 1, 1}, attributes, 2, 98, 98);
}

TEST_F(BackwardValuesTest, Rank4TaggedNcdhwIsNchw) {
  ConvAttributes attributes;
  attributes.math = 1;
  ExpectOnes({2, 2, 7, 7}, {2, 2, 7, 7}, {2, 2, 1, 1}, attributes, 2, 98, 98, ACL_FORMAT_NCDHW);
}

TEST_F(BackwardValuesTest, OnesIn1dGiveTheCountsOfTerms) {
  ExpectOnes({4, 2, 3}, {4, 2, 9}, {2, 2, 3}, Uniform(1, 3), 2, 12, 12);
  ExpectOnes({4, 2, 3}, {4, 2, 9}, {2, 2, 3}, Uniform(1, 3), 2, 12, 12, ACL_FORMAT_ND);
}

TEST_F(BackwardValuesTest, OnesIn3dGiveTheCountsOfTerms) {
  ExpectOnes({2, 2, 7, 7, 7}, {2, 2, 7, 7, 7}, {2, 2, 1, 1, 1}, Uniform(3), 2, 686, 686);
}

TEST_F(BackwardValuesTest, Transposed1dExchangesTheRoles) {
  // y[j] = sum x[i] w[2i - 0 ... ]: x = [a, b], w = [1, 10, 100], stride 2 gives five outputs.
  ConvAttributes attributes = Uniform(1, 2);
  attributes.transposed = true;
  const DeviceTensor dy({.shape = {1, 1, 5}}, Floats{1, 2, 3, 4, 5}), x({.shape = {1, 1, 2}}, Floats{7, 8});
  const DeviceTensor w({.shape = {1, 1, 3}}, Floats{1, 10, 100});
  const DeviceTensor dx({.shape = {1, 1, 2}}, 0), dw({.shape = {1, 1, 3}}, 0), db({.shape = {1}}, 0);
  TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {&dx, &dw, &db});
  ASSERT_EQ(call.first, 0) << RecentMessage();
  ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0);
  EXPECT_EQ(dx.Values(), (Floats{1 + 20 + 300, 3 + 40 + 500}));
  EXPECT_EQ(dw.Values(), (Floats{7 * 1 + 8 * 3, 7 * 2 + 8 * 4, 7 * 3 + 8 * 5}));
  EXPECT_EQ(db.Values(), Floats{15});
}

TEST_F(BackwardValuesTest, InputPositionsThatNoWindowTouchesGetZero) {
  const DeviceTensor dy({.shape = {1, 1, 2}}, Floats{1, 2}), x({.shape = {1, 1, 6}}, 1), w({.shape = {1, 1, 1}}, 5);
  const DeviceTensor dx({.shape = {1, 1, 6}}, -7);
  ConvAttributes attributes = Uniform(1, 4);
  attributes.mask = {true, false, false};
  TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {&dx, nullptr, nullptr});
  ASSERT_EQ(call.first, 0) << RecentMessage();
  ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0);
  EXPECT_EQ(dx.Values(), (Floats{5, 0, 0, 0, 10, 0}));
}

TEST_F(BackwardValuesTest, FourPaddingsAreTopBottomLeftRight) {
  // One row of padding on top only: the bottom input row meets the kernel's first row alone.
  ConvAttributes attributes;
  attributes.padding = {1, 0, 0, 2};
  const DeviceTensor dy({.shape = {1, 1, 2, 3}}, Floats{1, 2, 3, 4, 5, 6}), x({.shape = {1, 1, 2, 2}}, 1);
  const DeviceTensor w({.shape = {1, 1, 2, 2}}, Floats{1, 10, 100, 1000});
  const DeviceTensor dx({.shape = {1, 1, 2, 2}}, -7);
  attributes.mask = {true, false, false};
  TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {&dx, nullptr, nullptr});
  ASSERT_EQ(call.first, 0) << RecentMessage();
  ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0);
  EXPECT_EQ(dx.Values(), (Floats{100 * 1 + 4, 1000 * 1 + 100 * 2 + 10 * 4 + 5, 400, 4000 + 500}));
}

TEST_F(BackwardValuesTest, TbcKeepsItsWorkedPoints) {
  const Tbc cases[] = {
      {{5, 1, 2},
       {5, 1, 2},
       {1, 2, 2},
       Floats(10, 1),
       Floats(10, 1),
       Floats(4, 1),
       0,
       Floats(10, 2),
       Floats(4, 5),
       {5, 5}},
      {{5, 1, 2},
       {5, 1, 2},
       {3, 2, 2},
       Floats(10, 1),
       Floats(10, 1),
       Floats(12, 1),
       1,
       {4, 4, 6, 6, 6, 6, 6, 6, 4, 4},
       {4, 4, 4, 4, 5, 5, 5, 5, 4, 4, 4, 4},
       {5, 5}},
      {{3, 1, 1}, {1, 1, 1}, {1, 1, 1}, {10, 20, 30}, {3}, {2}, 1, {40}, {60}, {60}},
      {{2, 1, 1}, {3, 1, 1}, {2, 1, 1}, {1, 2}, {1, 2, 3}, {10, 100}, 0, {10, 120, 200}, {5, 8}, {3}},
      {{4, 1, 1}, {3, 1, 1}, {2, 1, 1}, {1, 2, 3, 4}, {1, 2, 3}, {10, 100}, 1, {120, 230, 340}, {20, 14}, {10}},
  };
  for (const Tbc& c : cases) {
    ExpectTbc(c, ACL_FORMAT_ND);
    ExpectTbc(c, ACL_FORMAT_NCL);
  }
}

TEST_F(BackwardValuesTest, TbcWithAnEmptyTensorGivesZerosAndTheTrueSum) {
  const Floats rows{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  ExpectTbc({{6, 1, 2}, {5, 1, 2}, {0, 2, 2}, rows, Floats(10, 1), {}, 0, Floats(10, 0), {}, {36, 42}}, ACL_FORMAT_ND);
  ExpectTbc({{2, 1, 2}, {0, 1, 2}, {1, 2, 2}, {1, 2, 3, 4}, {}, Floats(4, 1), 1, {}, Floats(4, 0), {4, 6}},
            ACL_FORMAT_ND);
  ExpectTbc({{1, 1, 2}, {0, 1, 2}, {0, 2, 2}, {1, 2}, {}, {}, 0, {}, {}, {1, 2}}, ACL_FORMAT_ND);
  ExpectTbc({{5, 1, 2}, {5, 1, 0}, {1, 0, 2}, Floats(10, 3), {}, {}, 0, {}, {}, {15, 15}}, ACL_FORMAT_ND);
}

TEST_F(BackwardValuesTest, AnEmptyBatchGivesZeros) {
  ConvAttributes attributes = Uniform(1);
  attributes.transposed = true;
  attributes.bias_sizes = {1};
  const auto form = [](std::vector<int64_t> shape) {
    return TensorForm{.shape = std::move(shape), .dtype = ACL_FLOAT16};
  };
  const DeviceTensor dy(form({0, 1, 1}), Floats()), x(form({0, 1, 1}), Floats()), w(form({1, 1, 1}), 3);
  const DeviceTensor dx(form({0, 1, 1}), Floats()), dw(form({1, 1, 1}), -7), db(form({1}), -7);
  TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {&dx, &dw, &db});
  ASSERT_EQ(call.first, 0) << RecentMessage();
  EXPECT_EQ(call.workspace_size, 0u);
  ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0) << RecentMessage();
  EXPECT_EQ(dw.Values(), Floats{0});
  EXPECT_EQ(db.Values(), Floats{0});
}

TEST_F(BackwardValuesTest, NoChannelsGiveZerosInStridedResultsToo) {
  ConvAttributes attributes;
  attributes.bias_sizes = {3};
  const DeviceTensor dy({.shape = {2, 3, 4, 4}}, 1), x({.shape = {2, 0, 4, 4}}, Floats()),
      w({.shape = {3, 0, 1, 1}}, Floats());
  const DeviceTensor dx({.shape = {2, 0, 4, 4}}, Floats()), dw({.shape = {3, 0, 1, 1}}, Floats());
  const DeviceTensor db({.shape = {3}, .strides = {2}, .offset = 1}, -7);
  TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {&dx, &dw, &db});
  ASSERT_EQ(call.first, 0) << RecentMessage();
  ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0) << RecentMessage();
  EXPECT_EQ(db.Values(), (Floats{0, 0, 0}));
  EXPECT_TRUE(db.SurroundingsUntouched());
}

TEST_F(BackwardValuesTest, CubeMathTypeRoundsInputsAsTheProductDoes) {
  // 1 + 2^-12 is not in HFLOAT32's 11 bits nor in FLOAT16, and ties to even give 1; FP32 keeps it.
  const float value = 1.000244140625F;
  for (const auto& [math, expected] : {std::pair{0, value}, {1, 1.0F}, {2, 1.0F}, {3, 1.0F}}) {
    const DeviceTensor dy({.shape = {1, 1, 1}}, 1), x({.shape = {1, 1, 1}}, 1), w({.shape = {1, 1, 1}}, value);
    const DeviceTensor dx({.shape = {1, 1, 1}}, 0), db({.shape = {1}}, 0), long_dy({.shape = {1, 1, 1}}, value);
    ConvAttributes attributes = Uniform(1);
    attributes.math = math;
    attributes.mask = {true, false, true};
    TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {&dx, nullptr, &db});
    ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0);
    EXPECT_EQ(dx.Values(), Floats{expected}) << "cubeMathType " << math;
    // The bias gradient sums gradOutput as it is.
    call = ConvolutionBackward(long_dy, x, w, attributes, {&dx, nullptr, &db});
    ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0);
    EXPECT_EQ(db.Values(), Floats{value}) << "cubeMathType " << math;
  }
}

}  // namespace
}  // namespace canopy::tests
