// SPDX-License-Identifier: Apache-2.0
// Where a job walks, and the filling of its slab.
#ifndef CANOPY_CONV_SHIFTED_SLAB_LOAD_H_
#define CANOPY_CONV_SHIFTED_SLAB_LOAD_H_

#include <cstdint>

#include "conv/shifted_slab/slab.h"
#include "conv/tensor_lines.h"

namespace canopy::conv::shifted_slab {

// The positions of one job: all images, rows and columns of its block, at one depth.
struct Place {
  int64_t depth = 0;
  int64_t image_first = 0, images = 0;
  int64_t row_first = 0, rows = 0;
  int64_t column_first = 0, columns = 0;
  int64_t positions = 0;
};

// Number `index` of shape.jobs().
Place PlaceAt(const PhaseShape& shape, int64_t batch, int64_t index);

// How walked coordinates lie in a tensor of the walk's size: strides in elements.
struct PositionStrides {
  int64_t image = 0;
  Extent3 step{1, 1, 1}, shift{};  // walked -> coordinate
  Extent3 stride{};

  int64_t element_step() const { return step[2] * stride[2]; }
};

// The elements under positions [begin, begin + count) of the place; those between rows and images have none.
// REQUIRES: `segments` holds `count` entries. Returns how many were made.
int64_t PositionSegments(const PhaseShape& shape, const Place& place, const PositionStrides& strides, int64_t begin,
                         int64_t count, kernels::Segment* segments);

// The tensor that slabs are cut from.
class SlabSource {
 public:
  SlabSource(const LineReader& reader, const Operand& operand, const Extent3& size)
      : reader_(reader), operand_(operand), size_(size) {}

  // Fills channels [first, first + count) of the tensor into channels [0, count) of the slab.
  void Load(const PhaseShape& shape, const Place& place, int64_t first, int64_t count, float* slab) const;

  // Whether the tap's depth lies in the tensor; where it does not, its planes are not filled and it has no term.
  bool HasDepth(const PhaseShape& shape, const Place& place, const AxisTaps::Tap& tap) const {
    return SourceDepth(shape, place, tap) >= 0;
  }

 private:
  int64_t SourceDepth(const PhaseShape& shape, const Place& place, const AxisTaps::Tap& tap) const;
  void LoadPlanes(const PhaseShape& shape, const Place& place, int64_t offset, int64_t channels, int64_t h_residue,
                  int64_t w_residue, float* to) const;

  const LineReader& reader_;
  const Operand& operand_;
  Extent3 size_;
};

}  // namespace canopy::conv::shifted_slab

#endif  // CANOPY_CONV_SHIFTED_SLAB_LOAD_H_
