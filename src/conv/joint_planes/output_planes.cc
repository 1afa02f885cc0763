// SPDX-License-Identifier: Apache-2.0
#include "conv/joint_planes/output_planes.h"

#include "kernels/lines/contract.h"

namespace canopy::conv::joint_planes {

void OutputPlanes::Load(const Rows& rows, int64_t columns, int64_t pitch, int64_t plane_pitch, float* line,
                        float* to) const {
  const int64_t count = rows.end - rows.first;
  const int64_t plane = rounded_.PlaneAt(rows.image, rows.first_channel, rows.depth);
  for (int64_t i = 0; i < rows.channels; ++i) {
    const sheets::PlanePart part{rows.first, 1, count, 0, columns};
    rounded_.Load(plane + i * problem_.output.strides[1], part, pitch, line, to + i * plane_pitch, nullptr);
  }
}

float OutputPlanes::SumUnrounded(const Rows& rows) const {
  const int64_t width = problem_.geometry.output_size[2], row = problem_.output.strides[3];
  const int64_t together = row == width ? rows.end - rows.first : 1;
  const float* plane = unrounded_.Direct(unrounded_.PlaneAt(rows.image, rows.first_channel, rows.depth));
  float sum = 0;
  for (int64_t r = rows.first; r < rows.end; r += together) {
    sum += kernels::Lines().sum(plane + r * row, together * width);
  }
  return sum;
}

}  // namespace canopy::conv::joint_planes
