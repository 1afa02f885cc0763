// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/weights_shape.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy::conv::winograd {
namespace {

WeightsShape ShapeOf(const Extent3& kernel, const Extent3& stride, const Extent3& dilation = {1, 1, 1}) {
  Geometry g;
  g.kernel = kernel;
  g.stride = stride;
  g.dilation = dilation;
  g.output_size = {60, 60, 60};
  return WeightsShape(g);
}

TEST(WeightsShapeTest, PartsShareTheKernelsTapsAndNeedTheirPoints) {
  const Extent3 kernels[] = {{1, 3, 3}, {1, 4, 4}, {1, 7, 5}, {1, 2, 9}, {1, 1, 6}, {4, 1, 4}, {7, 3, 1}, {1, 1, 11}};
  const Extent3 strides[] = {{1, 1, 1}, {1, 2, 2}, {1, 1, 2}, {1, 2, 3}, {2, 1, 1}};
  int served = 0;
  for (const Extent3& kernel : kernels) {
    for (const Extent3& stride : strides) {
      const WeightsShape shape = ShapeOf(kernel, stride);
      if (!shape.served) continue;
      ++served;
      std::vector<int> found(static_cast<size_t>(shape.taps()));
      int64_t points = 0;
      for (int64_t p = 0; p < shape.parts(); ++p) {
        const Extent3 part = shape.PartAt(p);
        for (int64_t i = 0; i < (shape.axes == 1 ? shape.side : shape.side * shape.side); ++i) {
          const int64_t tap = shape.TapOf(part, i, -1);
          if (tap >= 0) ++found[static_cast<size_t>(tap)];
        }
        for (int64_t point = 0; point < shape.points(); ++point) points += shape.Needs(part, point) ? 1 : 0;
      }
      for (const int times : found) EXPECT_EQ(times, 1);
      EXPECT_EQ(points, shape.NeededPoints());
    }
  }
  EXPECT_GE(served, 15);
}

TEST(WeightsShapeTest, TakesTheFewestProducts) {
  const auto seven = [](int64_t outputs) {
    Geometry g;
    g.kernel = {1, 1, 7};
    g.output_size = {1, 1, outputs};
    return WeightsShape(g);
  };
  EXPECT_EQ(seven(17).side, 4);  // 6 tiles by 6 + 5
  EXPECT_EQ(seven(17).parts(), 2);
  EXPECT_EQ(seven(17).InputsOf({0, 0, 1}), (Extent3{0, 0, 4}));
  EXPECT_EQ(seven(4).side, 3);  // 1 tile by 6 + 6 + 5
}

TEST(WeightsShapeTest, TheLastTileHasWhatIsLeft) {
  Geometry g;
  g.kernel = {1, 3, 3};
  g.output_size = {1, 7, 8};
  const WeightsShape shape(g);
  EXPECT_EQ(shape.OutputsOf(0), (Extent3{1, 4, 4}));
  EXPECT_EQ(shape.OutputsOf(2), (Extent3{1, 3, 4}));
  EXPECT_EQ(shape.WindowOf(2), (Extent3{1, 5, 6}));
  EXPECT_EQ(shape.Products(g.output_size), (6 + 5) * (6 + 6));
  EXPECT_EQ(shape.KindsWithout(4 * 6), 2);  // a row that windows of 5 have not
  EXPECT_EQ(shape.KindsWithout(5 * 6 + 4), 0);
}

TEST(WeightsShapeTest, TakesTwoToFiveOffsetsThatAStrideLeaves) {
  const WeightsShape three = ShapeOf({3, 3, 3}, {1, 2, 2});
  EXPECT_TRUE(three.served);
  EXPECT_EQ(three.side, 2);
  EXPECT_EQ(three.tile, (Extent3{1, 5, 5}));
  EXPECT_EQ(three.depths, 3);
  EXPECT_EQ(three.NeededPoints(), 121);
  EXPECT_EQ(ShapeOf({3, 3, 3}, {2, 2, 2}).InputDepths(4), 9);
  EXPECT_EQ(three.Reach(2, 5), 11);
  EXPECT_EQ(ShapeOf({1, 1, 10}, {1, 1, 2}).tile, (Extent3{1, 1, 2}));
  EXPECT_EQ(ShapeOf({1, 3, 4}, {1, 1, 2}).side, 3);
  EXPECT_FALSE(ShapeOf({1, 1, 11}, {1, 1, 2}).served);
  EXPECT_FALSE(ShapeOf({1, 2, 3}, {1, 2, 2}).served);
  EXPECT_FALSE(ShapeOf({1, 1, 3}, {1, 2, 1}).served);
  EXPECT_FALSE(ShapeOf({1, 1, 3}, {1, 1, 2}, {1, 1, 2}).served);
  EXPECT_FALSE(ShapeOf({1, 1, 41}, {1, 1, 1}).served);
  EXPECT_FALSE(ShapeOf({2, 3, 3}, {3, 1, 1}).served);
  EXPECT_FALSE(ShapeOf({5, 3, 3}, {1, 1, 1}).served);
}

}  // namespace
}  // namespace canopy::conv::winograd
