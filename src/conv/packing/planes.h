// SPDX-License-Identifier: Apache-2.0
// What the products of a 1x1 kernel see of a tensor: planes of pixels that lie side by side.
#ifndef CANOPY_CONV_PACKING_PLANES_H_
#define CANOPY_CONV_PACKING_PLANES_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "conv/problem.h"

namespace canopy::conv::packing {

// Whether all pixels of a channel are one run.
inline bool PlanesRun(const Operand& operand, const Extent3& size) {
  const auto& s = operand.strides;
  return s[4] == 1 && (size[1] == 1 || s[3] == size[2]) && (size[0] == 1 || s[2] == size[1] * size[2]);
}

// Whether all pixels lie at equal distances, and a pixel's channels side by side.
inline bool ChannelsRun(const Operand& operand, const Extent3& size) {
  const auto& s = operand.strides;
  return s[1] == 1 && (size[1] == 1 || s[3] == size[2] * s[4]) && (size[0] == 1 || s[2] == size[1] * size[2] * s[4]);
}

// The operand with its pixels along the last axis alone.
inline Operand Flat(const Operand& operand) {
  return {operand.dtype, {operand.strides[0], operand.strides[1], 0, 0, 1}};
}

// Whether the input's pixels are not the output's.
inline bool HasStride(const Geometry& g) { return g.input_size != g.output_size || g.stride != Extent3{1, 1, 1}; }

// Images' planes cut into equal pieces.
struct Pieces {
  Pieces() = default;
  Pieces(int64_t batch, int64_t plane_pixels, int64_t most, int64_t multiple_pixels)
      : images(batch), plane(plane_pixels), multiple(multiple_pixels) {
    if (most > multiple) most -= most % multiple;
    pixels = std::min(plane, base::RoundUp(base::PartSize(plane, most), multiple));
    a_plane = plane == 0 ? 0 : base::CeilDiv(plane, pixels);
  }

  int64_t count() const { return images * a_plane; }
  int64_t image(int64_t index) const { return index / a_plane; }
  int64_t first(int64_t index) const { return index % a_plane * pixels; }
  int64_t size(int64_t index) const { return std::min(pixels, plane - first(index)); }

  int64_t images = 0, plane = 0, multiple = 1;
  int64_t pixels = 0;   // of a whole piece
  int64_t a_plane = 0;  // pieces of a plane
};

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_PLANES_H_
