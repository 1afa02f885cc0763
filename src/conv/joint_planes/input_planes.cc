// SPDX-License-Identifier: Apache-2.0
#include "conv/joint_planes/input_planes.h"

#include <algorithm>

namespace canopy::conv::joint_planes {

// The band's rows of one residue of rows.
sheets::PlanePart InputPlanes::PartOf(int64_t residue, const Band& band) const {
  const int64_t exist = rows_.residues[static_cast<size_t>(residue)].input;
  const int64_t rows = std::clamp<int64_t>(exist - band.first, 0, band.rows), stride = problem_.geometry.stride[1];
  return {band.first * stride + residue, stride, rows, 0, problem_.geometry.input_size[2]};
}

void InputPlanes::Load(const Planes& planes, const Band& band, float* line, float* to) const {
  const Extent3& stride = problem_.geometry.stride;
  for (int64_t i = 0; i < planes.channels; ++i) {
    const int64_t plane = input_.PlaneAt(planes.image, planes.first_channel + i, planes.depth);
    for (int64_t r = 0; r < stride[1]; ++r) {
      float* even = to + r * stride[2] * layout_.residue + i * layout_.plane;
      input_.Load(plane, PartOf(r, band), layout_.row, line, even, stride[2] == 2 ? even + layout_.residue : nullptr);
    }
  }
}

void InputPlanes::Store(const Planes& planes, const Band& band, const float* from, float* line) const {
  const Extent3& stride = problem_.geometry.stride;
  for (int64_t i = 0; i < planes.channels; ++i) {
    const int64_t plane = result_.PlaneAt(planes.image, planes.first_channel + i, planes.depth);
    for (int64_t r = 0; r < stride[1]; ++r) {
      const float* even = from + r * stride[2] * layout_.residue + i * layout_.plane;
      result_.Store(even, stride[2] == 2 ? even + layout_.residue : nullptr, layout_.row, PartOf(r, band), line, plane);
    }
  }
}

}  // namespace canopy::conv::joint_planes
