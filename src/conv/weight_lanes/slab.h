// SPDX-License-Identifier: Apache-2.0
// A channel of an image with its padding, as far as taps reach.
#ifndef CANOPY_CONV_WEIGHT_LANES_SLAB_H_
#define CANOPY_CONV_WEIGHT_LANES_SLAB_H_

#include <cstdint>

#include "conv/problem.h"
#include "conv/tensor_lines.h"

namespace canopy::conv::weight_lanes {

struct Slab {
  explicit Slab(const Geometry& geometry);

  int64_t floats() const { return extent[0] * extent[1] * extent[2]; }
  int64_t Position(const Extent3& i) const { return (i[0] * extent[1] + i[1]) * extent[2] + i[2]; }

  // The input's channel that begins at `offset`, in a slab of zeros.
  void Fill(const LineReader& reader, const Operand& input, int64_t offset, float* slab) const;

  Extent3 extent{};
  Extent3 first{}, at{}, count{};  // `count` input coordinates from `first` on stand at `at`
};

}  // namespace canopy::conv::weight_lanes

#endif  // CANOPY_CONV_WEIGHT_LANES_SLAB_H_
