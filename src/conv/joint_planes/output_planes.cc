// SPDX-License-Identifier: Apache-2.0
#include "conv/joint_planes/output_planes.h"

#include "kernels/lines/contract.h"

namespace canopy::conv::joint_planes {

void OutputPlanes::Load(const Rows& rows, int64_t columns, int64_t pitch, int64_t image_pitch, float* line,
                        float* to) const {
  const int64_t count = rows.end - rows.first;
  const auto& strides = problem_.output.strides;
  const int64_t plane = rounded_.PlaneAt(rows.first_image, rows.channel, rows.depth);
  if (pitch == columns && strides[3] == columns && strides[0] % columns == 0) {  // an image's rows are one
    const sheets::PlanePart images{rows.first, strides[0] / columns, rows.images, 0, count * columns};
    return rounded_.Load(plane, images, image_pitch, line, to, nullptr);
  }
  for (int64_t i = 0; i < rows.images; ++i) {
    const sheets::PlanePart image{rows.first, 1, count, 0, columns};
    rounded_.Load(plane + i * strides[0], image, pitch, line, to + i * image_pitch, nullptr);
  }
}

float OutputPlanes::SumUnrounded(const Rows& rows) const {
  const int64_t width = problem_.geometry.output_size[2], row = problem_.output.strides[3];
  const int64_t together = row == width ? rows.end - rows.first : 1;
  float sum = 0;
  for (int64_t i = 0; i < rows.images; ++i) {
    const float* plane = unrounded_.Direct(unrounded_.PlaneAt(rows.first_image + i, rows.channel, rows.depth));
    for (int64_t r = rows.first; r < rows.end; r += together) {
      sum += kernels::Lines().sum(plane + r * row, together * width);
    }
  }
  return sum;
}

}  // namespace canopy::conv::joint_planes
