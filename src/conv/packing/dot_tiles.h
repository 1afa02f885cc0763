// SPDX-License-Identifier: Apache-2.0
// Columns dealt to calls of dot products' kernels. Where rows are summed, too, the first call does it, and has no more
// columns than such kernels.
#ifndef CANOPY_CONV_PACKING_DOT_TILES_H_
#define CANOPY_CONV_PACKING_DOT_TILES_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "kernels/dots/contract.h"

namespace canopy::conv::packing {

template <class T>
class DotTilesOf {
 public:
  // REQUIRES: columns > 0, and kernels of so many rows, which live as long.
  DotTilesOf(const kernels::DotsKernelsOf<T>& kernels, int64_t rows, int64_t columns, bool sums_rows)
      : columns_(columns),
        kernels_(kernels.dots[rows]),
        first_kernels_((sums_rows ? kernels.summing : kernels.dots)[rows]) {
    const int64_t most = kernels.most_columns[rows];
    const int64_t most_first = sums_rows ? kernels.most_summing_columns[rows] : most;
    count_ = 1 + base::CeilDiv(std::max<int64_t>(0, columns - most_first), most);
    first_ = std::min(most_first, base::CeilDiv(columns, count_));
  }

  int64_t count() const { return count_; }
  int64_t first(int64_t tile) const {
    return tile == 0 ? 0 : first_ + (tile - 1) * (columns_ - first_) / std::max<int64_t>(1, count_ - 1);
  }
  int64_t columns(int64_t tile) const { return first(tile + 1) - first(tile); }
  kernels::DotsFnOf<T> kernel(int64_t tile) const { return (tile == 0 ? first_kernels_ : kernels_)[columns(tile)]; }

 private:
  int64_t columns_, count_ = 1, first_ = 0;    // of all tiles; tiles; of the first
  const kernels::DotsFnOf<T>* kernels_;        // by columns
  const kernels::DotsFnOf<T>* first_kernels_;  // likewise, of the first tile
};

using DotTiles = DotTilesOf<float>;

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_DOT_TILES_H_
