// SPDX-License-Identifier: Apache-2.0
// Where the taps of few output pixels meet the input, in padded planes that leave out no position: a tap is then one
// distance for all pixels of an image.
#ifndef CANOPY_CONV_WEIGHT_LANES_SHIFTS_H_
#define CANOPY_CONV_WEIGHT_LANES_SHIFTS_H_

#include <algorithm>
#include <cstdint>

#include "conv/problem.h"

namespace canopy::conv::weight_lanes {

inline bool IsOnePixel(const Geometry& g) { return g.output_size == Extent3{1, 1, 1}; }

// Input coordinate i is, with its padding, phase + stride * q. Sums of one channel lie as [phase][q], phases and q with
// three axes each; output pixels are numbered like the q.
struct Shifts {
  explicit Shifts(const Geometry& g) : stride(IsOnePixel(g) ? Extent3{1, 1, 1} : g.stride) {
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t reach = (g.kernel[axis] - 1) * g.dilation[axis] / stride[axis];
      extent[axis] = std::max(g.output_size[axis] + reach,
                              std::max<int64_t>(0, g.input_size[axis] - 1 + g.pad_begin[axis]) / stride[axis] + 1);
    }
    run = Position({g.output_size[0] - 1, g.output_size[1] - 1, g.output_size[2] - 1}) + 1;
  }

  int64_t plane() const { return extent[0] * extent[1] * extent[2]; }
  int64_t floats() const { return plane() * stride[0] * stride[1] * stride[2]; }
  int64_t Position(const Extent3& q) const { return (q[0] * extent[1] + q[1]) * extent[2] + q[2]; }
  // Of padded input coordinates, which a tap's offset is as well.
  int64_t Sum(const Extent3& padded) const {
    const Extent3 q = {padded[0] / stride[0], padded[1] / stride[1], padded[2] / stride[2]};
    const Extent3 phase = {padded[0] % stride[0], padded[1] % stride[1], padded[2] % stride[2]};
    return ((phase[0] * stride[1] + phase[1]) * stride[2] + phase[2]) * plane() + Position(q);
  }

  Extent3 stride, extent{};  // one pixel is never strided
  int64_t run = 0;           // positions from the first output pixel to the last
};

// Whether the kernel covers an image of `input` and nothing else, and the image is one run: element by element that of
// the weights.
inline bool CoversInput(const Geometry& g, const Operand& input) {
  const auto& s = input.strides;
  return g.kernel == g.input_size && g.output_size == Extent3{1, 1, 1} && g.pad_begin == Extent3{0, 0, 0} &&
         g.dilation == Extent3{1, 1, 1} && s[4] == 1 && s[3] == g.kernel[2] && s[2] == g.kernel[1] * g.kernel[2] &&
         s[1] == g.taps();
}

// Whether every input coordinate, and perhaps padding, has a tap of its own: an image's one output pixel then reaches
// each at most once.
inline bool TapsAreCoordinates(const Geometry& g) {
  if (!IsOnePixel(g) || g.dilation != Extent3{1, 1, 1}) return false;
  for (int axis = 0; axis < 3; ++axis) {
    if (g.pad_begin[axis] < 0 || g.input_size[axis] > g.kernel[axis] - g.pad_begin[axis]) return false;
  }
  return true;
}

}  // namespace canopy::conv::weight_lanes

#endif  // CANOPY_CONV_WEIGHT_LANES_SHIFTS_H_
