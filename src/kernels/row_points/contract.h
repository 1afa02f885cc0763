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

// The converse, plus `added`. A number is a sum of `term_count` terms, at least one, of which term k stands terms[k]
// floats further on. Rows that do not exist are not written.
struct PointsToRows : PointRows {
  const float* points;
  const int64_t* terms;
  int64_t term_count;
  float added;
  void* plane;
};
// Whether what was written, and would have been to rows that do not exist, is finite before it is converted.
using PointsToRowsFn = bool (*)(const PointsToRows& call);

// A plane of which windows of six rows are made, and where the weights of its rows of the product stand.
struct ProductSource {
  const void* plane;
  const float* weights;
};

// Products of windows that are made on the way, so that few rows of a product need not wait for numbers of many sources
// to be written and read:
//   results[p * step + r * result_row + t * pitch + i] (+)=
//       sum over sources of source.weights[p * weights_step + r] * the number at point p of pixel i of tile t,
// 0 <= p < 6, 0 <= r < the kernel's rows, for i from 0 to count and on to the end of the last vector. Terms are added
// in the order of the sources to a sum started at 0; where `accumulate`, the sum is added to the result last.
struct RowProducts : PointRows {
  const ProductSource* sources;
  int64_t source_count;
  int64_t weights_step;
  float* results;
  int64_t result_row;
  bool accumulate;
};
using RowProductsFn = void (*)(const RowProducts& call);

inline constexpr int kMostProductRows = 12;

// By rows, up to most_rows, which the registers hold, and by the form of the planes.
struct RowProductsKernels {
  int most_rows;
  RowProductsFn products[kMostProductRows + 1][convert::kForms];
};

// The kernels for the best instruction set that this processor has.
const RowProductsKernels& AllRowProducts();

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
