// SPDX-License-Identifier: Apache-2.0
// The definition is held against sums worked out by hand, the whole tensors against the definition.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/oracle/definition.h"
#include "tests/oracle/whole.h"

namespace canopy::oracle {
namespace {

int64_t Volume(const Extent3& e) { return e[0] * e[1] * e[2]; }

Index5 Packed(const Index5& extents) {
  Index5 strides;
  int64_t step = 1;
  for (int axis = 4; axis >= 0; --axis) {
    strides[axis] = step;
    step *= extents[axis];
  }
  return strides;
}

struct Tensors {
  Geometry g;
  std::vector<float> image, weight, response;

  Index5 image_extents() const { return {g.batch, g.image_channels, g.image[0], g.image[1], g.image[2]}; }
  Index5 response_extents() const {
    return {g.batch, g.response_channels, g.response[0], g.response[1], g.response[2]};
  }
  Index5 weight_extents() const {
    return {g.response_channels, g.group_image_channels(), g.kernel[0], g.kernel[1], g.kernel[2]};
  }
  Array i() const { return {image.data(), Packed(image_extents())}; }
  Array w() const { return {weight.data(), Packed(weight_extents())}; }
  Array r() const { return {response.data(), Packed(response_extents())}; }
};

// One axis, one image and channel: image [1..5] and so on.
Tensors OneAxis(int64_t image, int64_t kernel, int64_t response, int64_t stride, int64_t pad, int64_t dilation) {
  Tensors t;
  t.g.image[2] = image;
  t.g.kernel[2] = kernel;
  t.g.response[2] = response;
  t.g.stride[2] = stride;
  t.g.pad[2] = pad;
  t.g.dilation[2] = dilation;
  return t;
}

std::vector<double> Responses(const Tensors& t) {
  std::vector<double> values;
  for (int64_t o = 0; o < t.g.response[2]; ++o) values.push_back(ResponseAt(t.g, t.i(), t.w(), {0, 0, 0, 0, o}));
  return values;
}

std::vector<double> Images(const Tensors& t) {
  std::vector<double> values;
  for (int64_t i = 0; i < t.g.image[2]; ++i) values.push_back(ImageAt(t.g, t.r(), t.w(), {0, 0, 0, 0, i}));
  return values;
}

std::vector<double> Weights(const Tensors& t) {
  std::vector<double> values;
  for (int64_t k = 0; k < t.g.kernel[2]; ++k) values.push_back(WeightAt(t.g, t.i(), t.r(), {0, 0, 0, 0, k}));
  return values;
}

using Doubles = std::vector<double>;

TEST(Definition, AStridedPaddedResponseEqualsTheSumByHand) {
  Tensors t = OneAxis(5, 3, 3, 2, 1, 1);
  t.image = {1, 2, 3, 4, 5};
  t.weight = {1, 10, 100};
  EXPECT_EQ(Responses(t), (Doubles{210, 432, 54}));
}

TEST(Definition, ADilatedResponseEqualsTheSumByHand) {
  Tensors t = OneAxis(5, 2, 2, 1, 0, 3);
  t.image = {1, 2, 3, 4, 5};
  t.weight = {1, 10};
  EXPECT_EQ(Responses(t), (Doubles{41, 52}));
}

TEST(Definition, TheImageOfATransposedConvolutionEqualsTheSumByHand) {
  Tensors t = OneAxis(7, 3, 3, 2, 0, 1);
  t.response = {1, 2, 3};
  t.weight = {1, 10, 100};
  EXPECT_EQ(Images(t), (Doubles{1, 10, 102, 20, 203, 30, 300}));
  t.g.pad[2] = 1;  // and one extra point at the far end
  t.g.image[2] = 6;
  EXPECT_EQ(Images(t), (Doubles{10, 102, 20, 203, 30, 300}));
}

TEST(Definition, GradientsOfATimeConvolutionEqualTheSumsByHand) {
  Tensors t = OneAxis(3, 2, 2, 1, 0, 1);
  t.image = {1, 2, 3};
  t.weight = {10, 100};
  t.response = {1, 2};
  EXPECT_EQ(Images(t), (Doubles{10, 120, 200}));
  EXPECT_EQ(Weights(t), (Doubles{5, 8}));
  t.g.pad[2] = 1;
  t.g.response[2] = 4;
  t.response = {1, 2, 3, 4};
  EXPECT_EQ(Images(t), (Doubles{120, 230, 340}));
  EXPECT_EQ(Weights(t), (Doubles{20, 14}));
  EXPECT_EQ(ChannelSumAt(1, t.g.response, t.r(), 0), 10);
}

TEST(Definition, PaddingWiderThanTheKernelReachesNothing) {
  Tensors t = OneAxis(1, 1, 3, 1, 1, 1);
  t.image = {3};
  t.weight = {2};
  t.response = {10, 20, 30};
  EXPECT_EQ(Images(t), (Doubles{40}));
  EXPECT_EQ(Weights(t), (Doubles{60}));
  EXPECT_EQ(Responses(t), (Doubles{0, 6, 0}));
}

TEST(Definition, GroupsKeepTheirChannelsApart) {
  Tensors t = OneAxis(2, 1, 2, 1, 0, 1);
  t.g.groups = t.g.image_channels = t.g.response_channels = 2;
  t.image = {1, 2, 3, 4};
  t.weight = {10, 100};
  EXPECT_EQ(ResponseAt(t.g, t.i(), t.w(), {0, 0, 0, 0, 1}), 20);
  EXPECT_EQ(ResponseAt(t.g, t.i(), t.w(), {0, 1, 0, 0, 0}), 300);
}

TEST(Definition, SquaresAreThoseOfTheTerms) {
  Tensors t = OneAxis(3, 2, 2, 1, 0, 1);
  t.image = {1, 2, -3};
  t.weight = {10, -100};
  t.response = {1, -2};
  EXPECT_EQ(ResponseAt(t.g, t.i(), t.w(), {0, 0, 0, 0, 1}, Sum::kSquares), 400 + 90000);
  EXPECT_EQ(ImageAt(t.g, t.r(), t.w(), {0, 0, 0, 0, 1}, Sum::kSquares), 10000 + 400);
  EXPECT_EQ(WeightAt(t.g, t.i(), t.r(), {0, 0, 0, 0, 1}, Sum::kSquares), 4 + 36);
  EXPECT_EQ(ChannelSumAt(1, t.g.response, t.r(), 0, Sum::kSquares), 5);
}

TEST(Definition, AnAbsentTapDoesNotMeetAnInfiniteWeight) {
  Tensors t = OneAxis(2, 3, 2, 1, 1, 1);
  t.image = {1, 2};
  t.weight = {std::numeric_limits<float>::infinity(), 1, 1};
  EXPECT_EQ(ResponseAt(t.g, t.i(), t.w(), {0, 0, 0, 0, 0}), 3);
  EXPECT_EQ(ResponseAt(t.g, t.i(), t.w(), {0, 0, 0, 0, 1}), std::numeric_limits<double>::infinity());
  std::vector<double> whole(2);
  WholeResponse(t.g, t.i(), t.w(), {whole.data(), {2, 2, 2, 2, 1}});
  EXPECT_EQ(whole, (Doubles{3, std::numeric_limits<double>::infinity()}));
}

Tensors RandomTensors(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Tensors t;
  t.g.batch = draw(1, 3);
  t.g.groups = draw(1, 3);
  t.g.image_channels = t.g.groups * draw(1, seed % 4 == 0 ? 40 : 4);
  t.g.response_channels = t.g.groups * draw(1, seed % 4 == 1 ? 140 : 4);
  for (int axis = 0; axis < 3; ++axis) {
    t.g.image[axis] = draw(1, axis == 2 ? 40 : 6);
    t.g.kernel[axis] = draw(1, 3);
    t.g.stride[axis] = draw(1, 3);
    t.g.dilation[axis] = draw(1, 3);
    t.g.pad[axis] = draw(0, 4);
    // More placements than the padded image has room for do no harm: their taps are absent.
    t.g.response[axis] = draw(1, axis == 2 ? 20 : 5);
  }
  std::uniform_real_distribution<float> value(-1, 1);
  for (auto [values, count] :
       {std::pair(&t.image, t.g.batch * t.g.image_channels * Volume(t.g.image)),
        std::pair(&t.response, t.g.batch * t.g.response_channels * Volume(t.g.response)),
        std::pair(&t.weight, t.g.response_channels * t.g.group_image_channels() * Volume(t.g.kernel))}) {
    for (int64_t i = 0; i < count; ++i) values->push_back(value(random));
  }
  return t;
}

// Every element of `whole` (packed) equals at(index), up to the order of a double sum.
template <typename At>
void ExpectWholeEquals(const std::vector<double>& whole, const Index5& extents, const At& at) {
  const Index5 strides = Packed(extents);
  for (size_t i = 0; i < whole.size(); ++i) {
    Index5 index;
    for (int axis = 0; axis < 5; ++axis) index[axis] = static_cast<int64_t>(i) / strides[axis] % extents[axis];
    ASSERT_NEAR(whole[i], at(index), 1e-11) << "element " << i;
  }
}

TEST(Whole, EqualsTheDefinitionOnRandomGeometry) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Tensors t = RandomTensors(seed);
    Doubles whole(t.response.size(), NAN);
    WholeResponse(t.g, t.i(), t.w(), {whole.data(), Packed(t.response_extents())});
    ExpectWholeEquals(whole, t.response_extents(), [&](auto& at) { return ResponseAt(t.g, t.i(), t.w(), at); });
    whole.assign(t.image.size(), NAN);
    WholeImage(t.g, t.r(), t.w(), {whole.data(), Packed(t.image_extents())});
    ExpectWholeEquals(whole, t.image_extents(), [&](auto& at) { return ImageAt(t.g, t.r(), t.w(), at); });
    whole.assign(t.weight.size(), NAN);
    WholeWeight(t.g, t.i(), t.r(), {whole.data(), Packed(t.weight_extents())});
    ExpectWholeEquals(whole, t.weight_extents(), [&](auto& at) { return WeightAt(t.g, t.i(), t.r(), at); });
  }
}

TEST(Whole, NonFiniteValuesGoWhereTheDefinitionPutsThem) {
  Tensors t = RandomTensors(7);
  t.image[3] = std::numeric_limits<float>::infinity();
  t.response[0] = std::numeric_limits<float>::quiet_NaN();
  Doubles whole(t.weight.size());
  WholeWeight(t.g, t.i(), t.r(), {whole.data(), Packed(t.weight_extents())});
  const Index5 strides = Packed(t.weight_extents());
  int not_finite = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    Index5 index;
    for (int a = 0; a < 5; ++a) index[a] = static_cast<int64_t>(i) / strides[a] % t.weight_extents()[a];
    const double expected = WeightAt(t.g, t.i(), t.r(), index);
    not_finite += std::isfinite(expected) ? 0 : 1;
    ASSERT_TRUE(whole[i] == expected || (std::isnan(whole[i]) && std::isnan(expected))) << "element " << i;
  }
  EXPECT_GT(not_finite, 0);
  EXPECT_LT(not_finite, static_cast<int>(whole.size()));
}

}  // namespace
}  // namespace canopy::oracle
