// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/image_rows.h"

#include <gtest/gtest.h>

namespace canopy::conv::packing {
namespace {

// Five images of two channels of one row.
ConvProblem RowsOfTwelve() {
  ConvProblem problem;
  Geometry& g = problem.geometry;
  g.batch = 5;
  g.input_channels = g.output_channels = 2;
  g.input_size = {1, 1, 12};
  g.output_size = {1, 1, 5};
  g.kernel = {1, 1, 4};
  g.stride = {1, 3, 2};  // that of an axis of one row is not used
  g.pad_begin = {0, 0, 1};
  problem.input.strides = problem.input_result.strides = {24, 12, 12, 12, 1};
  problem.output.strides = problem.output_result.strides = {10, 5, 5, 5, 1};
  return problem;
}

TEST(ImageRows, ImagesOfOneRowAreRowsOfOneImage) {
  const ConvProblem problem = RowsOfTwelve(), rows = ImagesAsRows(problem);
  EXPECT_EQ(rows.geometry.batch, 1);
  EXPECT_EQ(rows.geometry.input_size, (Extent3{1, 5, 12}));
  EXPECT_EQ(rows.geometry.output_size, (Extent3{1, 5, 5}));
  EXPECT_EQ(rows.geometry.stride, (Extent3{1, 1, 2}));
  EXPECT_EQ(rows.geometry.kernel, problem.geometry.kernel);
  EXPECT_EQ(rows.geometry.pad_begin, problem.geometry.pad_begin);
  for (const Operand* operand : {&rows.input, &rows.input_result}) {
    EXPECT_EQ(operand->strides[3], 24);
    EXPECT_EQ(operand->strides[1], 12);
  }
  for (const Operand* operand : {&rows.output, &rows.output_result}) EXPECT_EQ(operand->strides[3], 10);
  EXPECT_EQ(rows.weight.strides, problem.weight.strides);
}

TEST(ImageRows, HigherAndPaddedImagesStay) {
  for (int axis = 0; axis < 2; ++axis) {
    ConvProblem higher = RowsOfTwelve();
    higher.geometry.input_size[axis] = higher.geometry.output_size[axis] = 2;
    EXPECT_EQ(ImagesAsRows(higher), higher);
    ConvProblem padded = RowsOfTwelve();
    padded.geometry.kernel[axis] = 3;
    padded.geometry.pad_begin[axis] = 1;
    EXPECT_EQ(ImagesAsRows(padded), padded);
    ConvProblem empty = RowsOfTwelve();  // the one row of the output is of the padding alone
    empty.geometry.pad_begin[axis] = 1;
    EXPECT_EQ(ImagesAsRows(empty), empty);
  }
}

}  // namespace
}  // namespace canopy::conv::packing
