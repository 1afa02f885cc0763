// SPDX-License-Identifier: Apache-2.0
// Random depthwise problems over plain planes: one channel a group and pixels side by side, with planes around the
// widths of vectors, kernels that need several passes, and several images in a sheet.
#ifndef CANOPY_TESTS_CONV_PLANES_CASE_H_
#define CANOPY_TESTS_CONV_PLANES_CASE_H_

#include <algorithm>

#include "tests/conv/random_case.h"

namespace canopy::conv {

inline Geometry DrawPlanes(Draw* draw) {
  Geometry g;
  const int64_t sizes[] = {1, 2, 5, 7, 8, 13, 14, 15, 16, 17, 28, 31, 33, 56};
  g.batch = (*draw)(1, 5);
  g.groups = g.input_channels = g.output_channels = (*draw)(1, 5);
  const bool large = (*draw)(0, 7) == 0;
  const int64_t stride = (*draw)(1, 2);
  g.output_size[0] = g.input_size[0] = (*draw)(0, 5) == 0 ? 2 : 1;
  for (int a = 1; a < 3; ++a) {
    g.kernel[a] = large ? (*draw)(8, 33) : (*draw)(1, 7);
    g.stride[a] = stride;
    g.pad_begin[a] = (*draw)(0, 4) == 0 ? (*draw)(0, g.kernel[a] + 1) : g.kernel[a] / 2;
    const int64_t least = std::max<int64_t>(1, g.kernel[a] - 2 * g.pad_begin[a]);
    g.input_size[a] = std::max(least, sizes[(*draw)(0, 13)]);
    g.output_size[a] = (g.input_size[a] + 2 * g.pad_begin[a] - g.kernel[a]) / stride + 1;
  }
  return g;
}

inline Case PlanesCase(uint32_t seed, DType type) {
  Draw draw(seed);
  Case c;
  const Geometry g = c.problem.geometry = DrawPlanes(&draw);
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype) {
    Tensor tensor = MakeTensor(dims, dtype, {0, 1, 2, 3, 4}, draw(0, 2) == 0 ? draw(1, 3) : 0);
    FillRandom(&tensor, true, draw.engine());
    return tensor;
  };
  const std::array<int64_t, 5> input = {g.batch, g.groups, g.input_size[0], g.input_size[1], g.input_size[2]};
  const std::array<int64_t, 5> output = {g.batch, g.groups, g.output_size[0], g.output_size[1], g.output_size[2]};
  const std::array<int64_t, 5> weight = {g.groups, 1, 1, g.kernel[1], g.kernel[2]};
  c.input = make(input, type);
  c.weight = make(weight, type);
  c.output = make(output, type);
  c.input_result = make(input, seed % 3 == 0 ? type : DType::kFloat32);
  c.weight_result = make(weight, DType::kFloat32);
  c.output_result = make(output, DType::kFloat32);
  c.bias_result = make({1, g.groups, 1, 1, 1}, DType::kFloat32);
  c.problem.input = c.input.operand;
  c.problem.weight = c.weight.operand;
  c.problem.output = c.output.operand;
  c.problem.input_result = c.input_result.operand;
  c.problem.weight_result = c.weight_result.operand;
  c.problem.output_result = c.output_result.operand;
  c.problem.bias_result = c.bias_result.operand;
  return c;
}

}  // namespace canopy::conv

#endif  // CANOPY_TESTS_CONV_PLANES_CASE_H_
