// SPDX-License-Identifier: Apache-2.0
#include "conv/weight_lanes/slab.h"

#include <algorithm>

namespace canopy::conv::weight_lanes {

Slab::Slab(const Geometry& g) {
  for (int axis = 0; axis < 3; ++axis) {
    extent[axis] = (g.output_size[axis] - 1) * g.stride[axis] + (g.kernel[axis] - 1) * g.dilation[axis] + 1;
    first[axis] = std::max<int64_t>(0, -g.pad_begin[axis]);
    at[axis] = first[axis] + g.pad_begin[axis];
    count[axis] = std::max<int64_t>(0, std::min(g.input_size[axis] - first[axis], extent[axis] - at[axis]));
  }
}

void Slab::Fill(const LineReader& reader, const Operand& input, int64_t offset, float* slab) const {
  const auto& strides = input.strides;
  const int64_t step = strides[4];
  if (count[2] == 0) return;
  for (int64_t d = 0; d < count[0]; ++d) {
    const int64_t begin = offset + (first[0] + d) * strides[2] + first[1] * strides[3] + first[2] * step;
    float* to = slab + Position({at[0] + d, at[1], at[2]});
    if (step == 1) {
      reader.CopyRows(begin, strides[3], count[1], count[2], to, extent[2]);
      continue;
    }
    for (int64_t h = 0; h < count[1]; ++h) {
      reader.FetchGrid(begin + h * strides[3], 0, 1, step, count[2], to + h * extent[2]);
    }
  }
}

}  // namespace canopy::conv::weight_lanes
