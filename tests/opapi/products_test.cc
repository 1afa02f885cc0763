// SPDX-License-Identifier: Apache-2.0
// Numbers that differ by product. CTest runs this program once for each product; tests of others skip themselves.
#include <limits>

#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"
#include "product/product.h"
#include "tests/opapi/calls.h"

namespace canopy::tests {
namespace {

using Floats = std::vector<float>;

constexpr float kInf = std::numeric_limits<float>::infinity();

class ProductsTest : public DeviceTest {
 protected:
  static bool Is(product::Arch arch) { return product::CurrentProduct()->arch == arch; }
  static bool SaturatesAlways() { return !product::CurrentProduct()->inf_nan_mode; }

  // The bias gradient of 100 rows of 1000 in FLOAT16: 100000 is beyond its range.
  float OverflowingSum(aclrtStream on) {
    const auto f16 = [](std::vector<int64_t> shape) {
      return TensorForm{.shape = std::move(shape), .dtype = ACL_FLOAT16};
    };
    const DeviceTensor dy(f16({1, 1, 100}), 1000), x(f16({1, 1, 100}), 1), w(f16({1, 1, 1}), 1), db(f16({1}), 0);
    ConvAttributes attributes = Uniform(1);
    attributes.mask = {false, false, true};
    TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {nullptr, nullptr, &db});
    EXPECT_EQ(call.first, 0) << RecentMessage();
    EXPECT_EQ(call.Run(&aclnnConvolutionBackward, on), 0) << RecentMessage();
    return db.Values()[0];
  }

  // x * 1 in FLOAT with `math`.
  float Rounded(float value, int math) {
    const DeviceTensor x({.shape = {1, 1, 1, 1}}, value), w({.shape = {1, 1, 1, 1}}, 1), y({.shape = {1, 1, 1, 1}}, 0);
    ConvAttributes attributes;
    attributes.math = math;
    TwoPhases call = Convolution(x, w, nullptr, attributes, y);
    EXPECT_EQ(call.first, 0) << RecentMessage();
    EXPECT_EQ(call.Run(&aclnnConvolution, stream), 0) << RecentMessage();
    return y.Values()[0];
  }
};

TEST_F(ProductsTest, Float16OverflowsAsTheProductDoes) {
  if (Is(product::Arch::k3002)) GTEST_SKIP() << "no backward operator";
  EXPECT_EQ(OverflowingSum(stream), SaturatesAlways() ? 65504.0F : kInf);
}

TEST_F(ProductsTest, SaturationCanBeChosenForNewStreamsOnA2AndA3) {
  if (!Is(product::Arch::k2201)) GTEST_SKIP();
  aclrtStream saturating = nullptr, usual = nullptr;
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), 0);
  ASSERT_EQ(aclrtCreateStream(&saturating), 0);
  EXPECT_EQ(OverflowingSum(stream), kInf) << "made before";
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), 0);
  ASSERT_EQ(aclrtCreateStream(&usual), 0);
  EXPECT_EQ(OverflowingSum(saturating), 65504.0F);
  EXPECT_EQ(OverflowingSum(usual), kInf);
  for (aclrtStream made : {saturating, usual}) EXPECT_EQ(aclrtDestroyStream(made), 0);
}

TEST_F(ProductsTest, InputsAreRoundedToTheProductsFormats) {
  const bool old = Is(product::Arch::k1001) || Is(product::Arch::k2002);
  const float bit11 = 1 + 1.0F / 2048, bit10 = 1 + 1.0F / 1024;  // the last bit of 11 and of 10
  const bool eleven = product::CurrentProduct()->hf32_mantissa_bits == 11;
  EXPECT_EQ(Rounded(bit10, 1), bit10);
  EXPECT_EQ(Rounded(bit11, 1), eleven ? bit11 : 1.0F);
  EXPECT_EQ(Rounded(bit11, 2), 1.0F);
  EXPECT_EQ(Rounded(70000, 2), SaturatesAlways() ? 65504.0F : kInf);
  if (old) return;
  EXPECT_EQ(Rounded(bit11, 3), eleven ? bit11 : 1.0F);
  EXPECT_EQ(Rounded(1.0000001F, 0), 1.0000001F);
  EXPECT_EQ(Rounded(1.0000001F, 4), 1.0000001F);
}

TEST_F(ProductsTest, HiFloat8GradientsOfATransposedConvolution) {
  if (!Is(product::Arch::k3510)) GTEST_SKIP();
  ConvAttributes attributes = Uniform(1, 2);
  attributes.transposed = true;
  attributes.mask = {true, true, false};
  const auto hif8 = [](std::vector<int64_t> shape) {
    return TensorForm{.shape = std::move(shape), .dtype = ACL_HIFLOAT8};
  };
  const DeviceTensor dy(hif8({1, 1, 4}), Floats{1, 2, 3, 4}), x(hif8({1, 1, 2}), Floats{8, 1}),
      w(hif8({1, 1, 2}), Floats{1, 8});
  const DeviceTensor dx(hif8({1, 1, 2}), 0), dw({.shape = {1, 1, 2}}, 0);
  TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {&dx, &dw, nullptr});
  ASSERT_EQ(call.first, 0) << RecentMessage();
  ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0) << RecentMessage();
  EXPECT_EQ(dx.Values(), (Floats{16, 32})) << "17 and 35 to two bits of mantissa";
  EXPECT_EQ(dw.Values(), (Floats{11, 20}));
}

TEST_F(ProductsTest, Float8GradInputOfATransposedConvolution) {
  if (!Is(product::Arch::k3510)) GTEST_SKIP();
  ConvAttributes attributes = Uniform(1);
  attributes.transposed = true;
  attributes.mask = {true, false, false};
  const TensorForm one{.shape = {1, 1, 1}, .dtype = ACL_FLOAT8_E4M3FN};
  const DeviceTensor dy(one, 17), x(one, 1), w(one, 2), dx(one, 0);
  TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {&dx, nullptr, nullptr});
  ASSERT_EQ(call.first, 0) << RecentMessage();
  ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0) << RecentMessage();
  EXPECT_EQ(dx.Values(), Floats{32}) << "17 is stored as 16";
}

}  // namespace
}  // namespace canopy::tests
