// SPDX-License-Identifier: Apache-2.0
// What a stride leaves of a kernel of 3 along an axis: one part with its 3 taps, or parts with 2 taps and with 1.
#ifndef CANOPY_CONV_FEW_TILES_PARTS_H_
#define CANOPY_CONV_FEW_TILES_PARTS_H_

#include <array>
#include <vector>

#include "conv/problem.h"

namespace canopy::conv::few_tiles {

inline constexpr int64_t kKernel = 3;

// Along an axis, tap j of a part meets, at position p, source pixel number p + shift + j of those that the part has.
struct AxisPart {
  int64_t taps = 0;
  int64_t positions = 0;        // of its results, or, for weights, of the output's
  int64_t first = 0, step = 1;  // of its results in theirs
  int64_t shift = 0;
  int64_t source_first = 0, source_step = 1;  // of its source's pixels
  int64_t source_count = 0;
};

// Rows, then columns.
using Part = std::array<AxisPart, 2>;

// In the order of kernels::FewTilesPartOf. REQUIRES: the same stride, 1 or 2, along both axes.
std::vector<Part> DataParts(const Geometry& geometry);
std::vector<Part> WeightsParts(const Geometry& geometry);

}  // namespace canopy::conv::few_tiles

#endif  // CANOPY_CONV_FEW_TILES_PARTS_H_
