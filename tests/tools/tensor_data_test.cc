// SPDX-License-Identifier: Apache-2.0
#include "tools/tensor_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/check_case.h"

namespace canopy::tools {
namespace {

TensorSpec Spec(aclDataType dtype, const Extents& shape, DataSpec data = {}) {
  TensorSpec spec;
  spec.present = true;
  spec.dtype = dtype;
  spec.shape = shape;
  spec.data = data;
  return spec;
}

TEST(TensorData, ASeedGivesTheSameValuesForEver) {
  const std::vector<float> values = DrawValues(Spec(ACL_FLOAT, {3}), MixKey(1, "input"));
  EXPECT_EQ(values, DrawValues(Spec(ACL_FLOAT, {3}), MixKey(1, "input")));
  EXPECT_NE(values, DrawValues(Spec(ACL_FLOAT, {3}), MixKey(2, "input")));
  EXPECT_NE(values, DrawValues(Spec(ACL_FLOAT, {3}), MixKey(1, "weight")));
  EXPECT_EQ(Draw(0, 0), 0xE220A8397B1DCDAFull);  // splitmix64's first
}

TEST(TensorData, UniformValuesFillTheirRange) {
  const std::vector<float> values = DrawValues(Spec(ACL_FLOAT, {200000}, {DataSpec::Kind::kUniform, -3, 1}), 5);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*low, -3);
  EXPECT_LT(*low, -2.99f);
  EXPECT_LE(*high, 1);
  EXPECT_GT(*high, 0.99f);
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / 200000, -1, 0.01);
}

TEST(TensorData, NormalValuesHaveTheirMeanAndDeviation) {
  const std::vector<float> values = DrawValues(Spec(ACL_FLOAT, {200000}, {DataSpec::Kind::kNormal, 10, 2}), 5);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 200000;
  double square = 0;
  for (const float v : values) square += (v - mean) * (v - mean);
  EXPECT_NEAR(mean, 10, 0.05);
  EXPECT_NEAR(std::sqrt(square / 200000), 2, 0.05);
}

TEST(TensorData, IntegersAreWholeAndReachBothEnds) {
  const std::vector<float> values = DrawValues(Spec(ACL_BF16, {5000}, {DataSpec::Kind::kIntegers, -8, 8}), 5);
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float v) { return v == std::floor(v); }));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_EQ(*low, -8);
  EXPECT_EQ(*high, 8);
}

TEST(TensorData, ConstantsMayBeInfiniteOrNan) {
  const auto only = [](double value) {
    return DrawValues(Spec(ACL_FLOAT16, {1}, {DataSpec::Kind::kUniform, value, value}), 1)[0];
  };
  EXPECT_EQ(only(INFINITY), INFINITY);
  EXPECT_EQ(only(-INFINITY), -INFINITY);
  EXPECT_TRUE(std::isnan(only(NAN)));
  const std::vector<float> any =
      DrawValues(Spec(ACL_FLOAT16, {1000}, {DataSpec::Kind::kUniform, -INFINITY, INFINITY}), 1);
  EXPECT_GT(*std::max_element(any.begin(), any.end()), 1000);
}

TEST(TensorData, AStridedViewComesBackAndItsGapsStay) {
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN}) {
    TensorSpec spec = Spec(dtype, {3, 4, 5});
    spec.strides = {1, 40, 7};
    spec.offset = 2;
    EXPECT_EQ(StorageElements(spec), 2 + 2 + 120 + 28 + 1);
    std::vector<char> storage(StorageElements(spec) * 4);
    FillWithNan(spec, storage.data());
    EXPECT_TRUE(StillNan(spec, storage.data(), false));
    const std::vector<float> values = DrawValues(spec, 9);
    WriteView(spec, values, storage.data());
    EXPECT_EQ(ReadView(spec, storage.data()), values);
    EXPECT_EQ(ReadElements(spec, storage.data(), {7, 59}), (std::vector<float>{values[7], values[59]}));
    EXPECT_FALSE(StillNan(spec, storage.data(), false));
    EXPECT_TRUE(StillNan(spec, storage.data(), true));
    storage[0] ^= 1;  // in front of the view
    EXPECT_FALSE(StillNan(spec, storage.data(), true));
  }
}

TEST(TensorData, ElementsThatShareAPlaceHaveOneValue) {
  TensorSpec spec = Spec(ACL_FLOAT, {4, 3});
  spec.strides = {0, 1};
  const std::vector<float> values = DrawValues(spec, 9);
  for (int i = 3; i < 12; ++i) EXPECT_EQ(values[i], values[i % 3]);
  std::vector<float> storage(StorageElements(spec));
  WriteView(spec, values, storage.data());
  EXPECT_EQ(ReadView(spec, storage.data()), values);
}

TEST(ChooseElements, TakesCornersEdgesAndEnoughOthersOnceEach) {
  const Extents shape = {7, 30, 41, 2};
  const std::vector<int64_t> chosen = ChooseElements(shape, 500, 3);
  EXPECT_GE(chosen.size(), 516u);
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
  EXPECT_EQ(std::adjacent_find(chosen.begin(), chosen.end()), chosen.end());
  EXPECT_EQ(chosen.front(), 0);
  EXPECT_EQ(chosen.back(), Volume(shape) - 1);
  EXPECT_TRUE(std::binary_search(chosen.begin(), chosen.end(), 6 * 30 * 41 * 2));
  EXPECT_EQ(chosen, ChooseElements(shape, 500, 3));
  EXPECT_NE(chosen, ChooseElements(shape, 500, 4));
}

TEST(ChooseElements, TakesAllOfASmallTensor) {
  EXPECT_EQ(ChooseElements({10, 100}, 500, 1).size(), 1000u);
  EXPECT_EQ(ChooseElements({0, 5}, 500, 1).size(), 0u);
}

}  // namespace
}  // namespace canopy::tools
