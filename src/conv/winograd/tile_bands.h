// SPDX-License-Identifier: Apache-2.0
// The tiles of a batch of images, numbered: bands of tile rows by tile columns of one image, and tiles inside a band,
// each in reading order. A band's pixels are transposed at a time.
#ifndef CANOPY_CONV_WINOGRAD_TILE_BANDS_H_
#define CANOPY_CONV_WINOGRAD_TILE_BANDS_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"

namespace canopy::conv::winograd {

struct TileBand {
  int64_t image, first_row, first_column;  // in tiles
  int64_t rows, columns;
  int64_t before;  // tiles of the bands before it

  int64_t tiles() const { return rows * columns; }
};

class TileBands {
 public:
  TileBands() = default;
  TileBands(int64_t images, int64_t image_rows, int64_t image_columns, int64_t rows, int64_t columns)
      : image_rows_(image_rows), image_columns_(image_columns), rows_(rows), columns_(columns) {
    down_ = base::CeilDiv(image_rows, rows);
    across_ = base::CeilDiv(image_columns, columns);
    count_ = images * down_ * across_;
  }

  int64_t count() const { return count_; }
  int64_t rows() const { return rows_; }  // of a whole band
  int64_t columns() const { return columns_; }

  // REQUIRES: 0 <= index <= count(); at count() only `before` means something.
  TileBand At(int64_t index) const {
    TileBand band;
    band.image = index / (down_ * across_);
    band.first_row = index / across_ % down_ * rows_;
    band.first_column = index % across_ * columns_;
    band.rows = std::min(rows_, image_rows_ - band.first_row);
    band.columns = std::min(columns_, image_columns_ - band.first_column);
    band.before = (band.image * image_rows_ + band.first_row) * image_columns_ + band.rows * band.first_column;
    return band;
  }

 private:
  int64_t image_rows_ = 0, image_columns_ = 0, rows_ = 1, columns_ = 1;
  int64_t down_ = 0, across_ = 0, count_ = 0;
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_TILE_BANDS_H_
