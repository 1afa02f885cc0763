// SPDX-License-Identifier: Apache-2.0
// Output images cut into strips: runs of pixels that lie side by side, a few whole rows or a part of one.
#ifndef CANOPY_CONV_PACKING_STRIPS_H_
#define CANOPY_CONV_PACKING_STRIPS_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "conv/problem.h"

namespace canopy::conv::packing {

struct Strip {
  int64_t image, depth, row, column;  // first output position
  int64_t rows, columns;

  int64_t pixels() const { return rows * columns; }
};

class Strips {
 public:
  Strips() = default;
  // Where rows are cut, their parts but the last are multiples of `multiple`.
  Strips(const Geometry& geometry, int64_t most_pixels, int64_t multiple)
      : batch_(geometry.batch), size_(geometry.output_size) {
    const int64_t parts = std::max<int64_t>(1, base::CeilDiv(size_[2], 2 * most_pixels));
    columns_ = std::max<int64_t>(1, base::CeilDiv(size_[2], parts));
    if (parts > 1) columns_ = base::RoundUp(columns_, multiple);
    rows_ = std::clamp<int64_t>(most_pixels / columns_, 1, std::max<int64_t>(1, size_[1]));
    rows_ = std::max<int64_t>(1, base::CeilDiv(size_[1], base::CeilDiv(size_[1], rows_)));
    if (parts > 1) rows_ = 1;
    a_row_ = base::CeilDiv(size_[2], columns_);
    a_plane_ = base::CeilDiv(size_[1], rows_) * a_row_;
  }

  int64_t rows() const { return rows_; }        // of a whole strip
  int64_t columns() const { return columns_; }  // likewise
  int64_t pixels() const { return rows_ * columns_; }
  int64_t count() const { return batch_ * size_[0] * a_plane_; }

  Strip At(int64_t index) const {
    Strip strip;
    strip.column = index % a_row_ * columns_;
    strip.row = index % a_plane_ / a_row_ * rows_;
    strip.depth = index / a_plane_ % size_[0];
    strip.image = index / a_plane_ / size_[0];
    strip.rows = std::min(rows_, size_[1] - strip.row);
    strip.columns = std::min(columns_, size_[2] - strip.column);
    return strip;
  }

 private:
  int64_t batch_ = 0;
  Extent3 size_{};
  int64_t rows_ = 1, columns_ = 1;
  int64_t a_row_ = 0, a_plane_ = 0;  // strips
};

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_STRIPS_H_
