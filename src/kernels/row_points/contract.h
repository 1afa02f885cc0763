// SPDX-License-Identifier: Apache-2.0
// Winograd's transforms along the height (kernels/winograd/contract.h has the points and what their products are),
// straight from and to rows of a tensor:
// lanes are neighbouring pixels.
#ifndef CANOPY_KERNELS_ROW_POINTS_CONTRACT_H_
#define CANOPY_KERNELS_ROW_POINTS_CONTRACT_H_

#include <cstdint>

#include "kernels/convert/forms.h"
#include "kernels/winograd/contract.h"

namespace canopy::kernels {

// Rows of a plane, of which tiles are made: tile t of `tiles`, from 0 on, is of the rows from `row` + t * `tile_rows`
// on. Row r stands at `plane` + r * row_step elements; `height` of them exist, from 0 on. Pixel i of tile t, 0 <= i <
// count, has its number at point p at points[p * step + t * pitch + i].
struct PointRows {
  int64_t row, height, row_step;
  int64_t tiles, tile_rows;
  int64_t count, pitch;
  int64_t step;
};

// Rows that do not exist are zeros. Numbers from count to pitch are 0, too, and perhaps some behind, fewer than a
// vector.
struct RowsToPoints : PointRows {
  const void* plane;
  const void* zeros;  // a row
  float* points;
  float* sums;  // of kWinogradLanes: the rows' pixels are added to them, each to one
};
using RowsToPointsFn = void (*)(const RowsToPoints& call);

// The converse, plus `added`. Rows that do not exist are not written.
struct PointsToRows : PointRows {
  const float* points;
  float added;
  void* plane;
};
// Whether what was written, and would have been to rows that do not exist, is finite before it is converted.
using PointsToRowsFn = bool (*)(const PointsToRows& call);

// By the form of the rows: `windows` of 6 rows, `kernels` of 2 to 5 rows and `results` of 5 to 2, of kernels of 2 to 5,
// of which none is kHfloat32x11.
struct RowPointsKernels {
  static constexpr int kMost = kMostWinogradKernel + 1;

  int lanes;  // of a vector
  RowsToPointsFn windows[convert::kForms];
  RowsToPointsFn kernels[kMost][convert::kForms];
  RowsToPointsFn summing_kernels[kMost][convert::kForms];  // those that add to `sums`; the others do not read it
  PointsToRowsFn results[kMost][convert::kForms];
};

// The kernels for the best instruction set that this processor has.
const RowPointsKernels& RowPoints();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_ROW_POINTS_CONTRACT_H_
