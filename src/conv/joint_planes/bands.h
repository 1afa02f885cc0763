// SPDX-License-Identifier: Apache-2.0
// Bands of rows of positions, and what of the output they meet.
#ifndef CANOPY_CONV_JOINT_PLANES_BANDS_H_
#define CANOPY_CONV_JOINT_PLANES_BANDS_H_

#include <cstdint>

#include "conv/sheets/reach.h"
#include "kernels/joint_planes/contract.h"

namespace canopy::conv::joint_planes {

struct Band {
  int64_t first, rows;
};

// Of the output rows that a band meets those that exist, from `first` to `end`; `start` would be the first of all, and
// from `unread` on bands before have read none.
struct MetRows {
  int64_t start, first, end, unread;
};
MetRows MetBy(const Band& band, const sheets::Reach& rows);

// Tells kernels that find the edges themselves where these are: rows of positions meet first the output's that lie
// `row` before theirs, columns likewise.
void SetEdges(const Band& band, const sheets::Reach& rows, const sheets::Reach& columns, int64_t row, int64_t column,
              kernels::JointCall* call);

}  // namespace canopy::conv::joint_planes

#endif  // CANOPY_CONV_JOINT_PLANES_BANDS_H_
