// SPDX-License-Identifier: Apache-2.0
// How a forward product is cut: strips of output pixels, and the slab of what a strip meets of the input.
#ifndef CANOPY_CONV_COLUMNS_FORWARD_CUT_H_
#define CANOPY_CONV_COLUMNS_FORWARD_CUT_H_

#include <cstdint>

#include "conv/packing/strips.h"

namespace canopy::conv::columns {

inline constexpr int64_t kMostForwardColumns = 256;  // FP32 sums stay short
inline constexpr int64_t kMostForwardSpread = 256;   // of the taps along an axis, and of pixels

struct ForwardCut {
  ForwardCut() = default;
  // REQUIRES: no more columns than kMostForwardColumns, at least one, and no wider spread than kMostForwardSpread.
  explicit ForwardCut(const Geometry& geometry);

  packing::Strips strips;
  int64_t lane_step = 1;  // from column to column: a strip's pixels
  // Of the slab: [input channel][depth tap][row][phase of the last axis][position].
  int64_t planes = 0, plane_floats = 0;  // channels and depths
  int64_t rows = 0, row_floats = 0;      // of a plane
  int64_t phase_floats = 0;
  int64_t positions = 0;  // of a row, all phases

  int64_t slab_floats() const { return planes * plane_floats; }
};

}  // namespace canopy::conv::columns

#endif  // CANOPY_CONV_COLUMNS_FORWARD_CUT_H_
