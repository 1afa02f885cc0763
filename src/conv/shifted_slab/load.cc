// SPDX-License-Identifier: Apache-2.0
#include "conv/shifted_slab/load.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::conv::shifted_slab {

Place PlaceAt(const PhaseShape& shape, int64_t batch, int64_t index) {
  Place place;
  const auto next = [&index](int64_t count) {
    const int64_t at = index % count;
    index /= count;
    return at;
  };
  place.column_first = next(shape.column_blocks) * shape.columns;
  place.columns = std::min(shape.columns, shape.axes[2]->walk - place.column_first);
  place.row_first = next(shape.row_blocks) * shape.rows;
  place.rows = std::min(shape.rows, shape.axes[1]->walk - place.row_first);
  place.depth = next(shape.axes[0]->walk);
  place.image_first = index * shape.images;
  place.images = std::min(shape.images, batch - place.image_first);
  place.positions = ((place.images - 1) * shape.image_rows + place.rows - 1) * shape.pitch + place.columns;
  return place;
}

int64_t PositionSegments(const PhaseShape& shape, const Place& place, const PositionStrides& strides, int64_t begin,
                         int64_t count, kernels::Segment* segments) {
  const auto offset = [&strides](int axis, int64_t walked) {
    return (walked * strides.step[axis] + strides.shift[axis]) * strides.stride[axis];
  };
  int64_t made = 0;
  for (int64_t at = begin; at < begin + count;) {
    const int64_t flat_row = at / shape.pitch, w = at % shape.pitch;
    const int64_t n = flat_row / shape.image_rows, h = flat_row % shape.image_rows;
    const int64_t end = std::min(begin + count, (flat_row + 1) * shape.pitch);
    const int64_t columns = std::min(end - at, place.columns - w);
    if (columns > 0 && h < place.rows && n < place.images) {
      segments[made++] = {(place.image_first + n) * strides.image + offset(0, place.depth) +
                              offset(1, place.row_first + h) + offset(2, place.column_first + w),
                          static_cast<int32_t>(at - begin), static_cast<int32_t>(columns)};
    }
    at = end;
  }
  return made;
}

int64_t SlabSource::SourceDepth(const PhaseShape& shape, const Place& place, const AxisTaps::Tap& tap) const {
  const AxisTaps& taps = shape.taps[0];
  const int64_t at = (place.depth + taps.least_shift + tap.shift) * taps.step + taps.residues[tap.residue_index];
  return at >= 0 && at < size_[0] ? at : -1;
}

void SlabSource::Load(const PhaseShape& shape, const Place& place, int64_t first, int64_t count, float* slab) const {
  const AxisTaps &h_taps = shape.taps[1], &w_taps = shape.taps[2];
  for (size_t d = 0; d < shape.taps[0].taps.size(); ++d) {
    const int64_t depth = SourceDepth(shape, place, shape.taps[0].taps[d]);
    if (depth < 0) continue;
    const int64_t offset = first * operand_.strides[1] + depth * operand_.strides[2];
    for (size_t h = 0; h < h_taps.residues.size(); ++h) {
      for (size_t w = 0; w < w_taps.residues.size(); ++w) {
        const int64_t plane =
            shape.PlaneIndex(static_cast<int64_t>(d), static_cast<int64_t>(h), static_cast<int64_t>(w));
        LoadPlanes(shape, place, offset, count, h_taps.residues[h], w_taps.residues[w],
                   slab + plane * shape.plane_elems);
      }
    }
  }
}

// One residue plane of every channel, image and row.
void SlabSource::LoadPlanes(const PhaseShape& shape, const Place& place, int64_t offset, int64_t channels,
                            int64_t h_residue, int64_t w_residue, float* to) const {
  const AxisTaps &h_taps = shape.taps[1], &w_taps = shape.taps[2];
  const int64_t length = std::max(shape.pitch, w_taps.Extent(place.columns));
  // Position x of a row stands for coordinate start + x * step.
  const int64_t start = (place.column_first + w_taps.least_shift) * w_taps.step + w_residue;
  const auto first_not_below = [&](int64_t coordinate) {
    return coordinate <= start ? int64_t{0} : std::min(length, base::CeilDiv(coordinate - start, w_taps.step));
  };
  const int64_t low = first_not_below(0), high = first_not_below(size_[2]);
  const kernels::Segment segment{(start + low * w_taps.step) * operand_.strides[4], static_cast<int32_t>(low),
                                 static_cast<int32_t>(high - low)};
  const int64_t rows = h_taps.Extent(place.rows);
  for (int64_t c = 0; c < channels; ++c) {
    // Ascending: what a line writes past its end is the next line's to write.
    for (int64_t n = 0; n < place.images; ++n) {
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t h = (place.row_first + row + h_taps.least_shift) * h_taps.step + h_residue;
        const bool inside = h >= 0 && h < size_[1] && high > low;
        float* line = to + c * shape.channel_elems + (n * shape.image_rows + row) * shape.pitch;
        const int64_t row_offset =
            offset + c * operand_.strides[1] + (place.image_first + n) * operand_.strides[0] + h * operand_.strides[3];
        if (inside) {
          reader_.Fetch(row_offset, &segment, 1, w_taps.step * operand_.strides[4], length, line);
        } else {
          std::fill(line, line + length, 0.0f);
        }
      }
    }
  }
}

}  // namespace canopy::conv::shifted_slab
