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
  return PlainCase(DrawPlanes(&draw), seed, type, &draw);
}

}  // namespace canopy::conv

#endif  // CANOPY_TESTS_CONV_PLANES_CASE_H_
