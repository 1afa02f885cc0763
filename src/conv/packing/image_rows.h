// SPDX-License-Identifier: Apache-2.0
// Images of one row are the rows of one image. What handles several rows at once then handles several such images.
#ifndef CANOPY_CONV_PACKING_IMAGE_ROWS_H_
#define CANOPY_CONV_PACKING_IMAGE_ROWS_H_

#include "conv/problem.h"

namespace canopy::conv::packing {

// Whether an image is one row, of which the kernel meets nothing else.
inline bool IsOneRow(const Geometry& g) {
  for (int axis = 0; axis < 2; ++axis) {
    if (g.input_size[axis] != 1 || g.output_size[axis] != 1 || g.kernel[axis] != 1 || g.pad_begin[axis] != 0) {
      return false;
    }
  }
  return true;
}

// The problem with its batch as the height of one image, or as it is where images are higher or deeper than a row.
inline ConvProblem ImagesAsRows(ConvProblem problem) {
  Geometry& g = problem.geometry;
  if (!IsOneRow(g)) return problem;
  g.input_size[1] = g.output_size[1] = g.batch;
  g.stride[1] = 1;
  g.batch = 1;
  for (Operand* operand : {&problem.input, &problem.output, &problem.input_result, &problem.output_result}) {
    operand->strides[3] = operand->strides[0];
  }
  return problem;
}

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_IMAGE_ROWS_H_
