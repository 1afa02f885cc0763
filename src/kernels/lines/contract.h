// SPDX-License-Identifier: Apache-2.0
// Moving rows between tensors and packed panels.
#ifndef CANOPY_KERNELS_LINES_CONTRACT_H_
#define CANOPY_KERNELS_LINES_CONTRACT_H_

#include <cstdint>

#include "kernels/convert/forms.h"

namespace canopy::kernels {

// A stretch of a line: line[begin + i] corresponds to tensor element source + i * (the line's step), 0 <= i < count.
struct Segment {
  int64_t source;
  int32_t begin;
  int32_t count;
};

// Elements that a line may be written past its end: kernels store whole vectors.
inline constexpr int kLineSlack = 64;

// Lines of results, `together` of which take turns in rows that they do not fill.
struct Spreading {
  int64_t together, from_step;    // lines, and from one to the next
  int64_t count, step;            // elements of each line in a row, and from one to the next there; step >= together
  int64_t rows, length, to_step;  // length >= (count - 1) * step + together
  int64_t ahead;                  // from a row to what is asked for meanwhile, to be written later; 0: nothing
};

// Rows that overlap: tap t of row r is from[r * row_step + t * tap_step + i], 0 <= i < count, and begins t * shift
// elements behind the first.
struct ShiftedRows {
  int64_t rows, row_step;
  int64_t taps, tap_step, shift;
  int64_t count;
};

struct LineKernels {
  // line[begin + i] = source[segment.source + i] for every segment (step 1), and 0 between, before and after them up to
  // `length`. Segments ascend and do not overlap. Writes up to kLineSlack floats past `length`.
  void (*fetch)(const float* source, const Segment* segments, int64_t segment_count, int64_t length, float* line);

  // to[i * stride + r] = lines[r][i], 0 <= r < 4, 0 <= i < count. Reads whole vectors: kLineSlack floats past the
  // lines' ends must be readable. Writes nothing else.
  void (*interleave4)(const float* const lines[4], int64_t count, int64_t stride, float* to);

  // to[column_offsets[j] + i] = from[i * step + j], 0 <= i < rows, 0 <= j < columns. Reads and writes nothing else.
  void transpose(const float* from, int64_t step, int64_t rows, int64_t columns, float* to,
                 const int64_t* column_offsets) const {
    transpose_form[0](from, step, rows, columns, to, column_offsets);
  }
  // The same from elements of a form.
  void (*transpose_form[convert::kForms])(const void* from, int64_t step, int64_t rows, int64_t columns, float* to,
                                          const int64_t* column_offsets);

  // to[j * rows + i] = from[i * step + j], 0 <= i < rows, 0 <= j < columns. Reads and writes nothing else.
  void (*interleave)(const float* from, int64_t step, int64_t rows, int64_t columns, float* to);

  // to[r * count + i] = from[r * from_step + 2 * i], 0 <= r < rows, 0 <= i < count. Reads nothing past a row's element
  // 2 * count - 2 and writes nothing else.
  void (*every_second)(const float* from, int64_t from_step, int64_t rows, int64_t count, float* to);
  void (*every_second16)(const uint16_t* from, int64_t from_step, int64_t rows, int64_t count, uint16_t* to);

  // even[r * count + i] = from[r * from_step + 2 * i], odd[...] = the one behind it, likewise. Reads nothing past a
  // row's element 2 * count - 1 and writes nothing else.
  void (*split_seconds)(const float* from, int64_t from_step, int64_t rows, int64_t count, float* even, float* odd);

  // to[offsets[r] + i] += from[r * step + i], 0 <= i < count, row by row from 0 to rows - 1. Reads and writes nothing
  // else.
  void (*add_rows)(const float* from, int64_t step, int64_t rows, int64_t count, float* to, const int64_t* offsets);

  // to[offsets[r] + t * shift + i] += from[r * row_step + t * tap_step + i] for each of these, all taps of an element
  // at once. Reads and writes nothing else.
  void (*add_shifted)(const float* from, const ShiftedRows& shape, float* to, const int64_t* offsets);

  // to[r * to_step + i] = from[r * from_step + i], 0 <= r < rows, 0 <= i < count. Reads and writes nothing else.
  void copy_rows(const float* from, int64_t from_step, int64_t rows, int64_t count, float* to, int64_t to_step) const {
    copy_rows_form[0](from, from_step, rows, count, to, to_step);
  }
  // The same from elements of a form.
  void (*copy_rows_form[convert::kForms])(const void* from, int64_t from_step, int64_t rows, int64_t count, float* to,
                                          int64_t to_step);

  // copy_rows of 16-bit elements.
  void (*copy_rows16)(const uint16_t* from, int64_t from_step, int64_t rows, int64_t count, uint16_t* to,
                      int64_t to_step);

  // copy_rows whose whole lines of memory leave past the caches, if they can (kernels/streams.h).
  void (*stream_rows)(const float* from, int64_t from_step, int64_t rows, int64_t count, float* to, int64_t to_step);

  // Rows whose elements lie apart, and zeros around them:
  //   to[r * to_step + i * step + k] = from[k * from_step + r * count + i]
  // 0 <= r < rows, 0 <= i < count, 0 <= k < together, and 0 elsewhere in to[r * to_step, r * to_step + length). Reads
  // and writes nothing else. Where `streamed`, past the caches if it can (kernels/streams.h): every second element
  // (together 1, step 2) only, of rows that are whole lines of memory.
  void (*spread)(const float* from, const Spreading& spreading, bool streamed, float* to);

  // to[i * to_step + r * length + j] = from[offsets[r] + i * from_step + j], 0 <= i < count, 0 <= r < runs,
  // 0 <= j < length <= to_step / runs. Reads up to kLineSlack floats past a run; leaves anything between the last run
  // of one i and the first of the next, and in the kLineSlack floats past the end.
  void (*copy_runs)(const float* from, const int64_t* offsets, int64_t runs, int64_t length, int64_t count,
                    int64_t from_step, float* to, int64_t to_step);

  // to[i] = the pair even[i], odd[i] (0 where odd is nullptr) of 16-bit numbers, the first in the lower half, 0 <= i <
  // count. Reads and writes nothing else.
  void zip(const uint16_t* even, const uint16_t* odd, int64_t count, float* to) const {
    zip_rows(even, odd, 0, 1, count, to, 0);
  }
  // The same of `rows` pairs of rows, each from_step and to_step behind the one before it.
  void (*zip_rows)(const uint16_t* even, const uint16_t* odd, int64_t from_step, int64_t rows, int64_t count, float* to,
                   int64_t to_step);

  // to[i] = the pair even[2 * i], odd[2 * i] likewise. Reads nothing past the last of them and writes nothing else.
  void (*zip_seconds)(const uint16_t* even, const uint16_t* odd, int64_t count, float* to);

  // to[i] = the pair of the upper halves of even[i] and odd[i] (0 where odd is nullptr), 0 <= i < count, a multiple of
  // 16. `to` is `even`, or overlaps neither.
  void (*zip_upper)(const float* even, const float* odd, int64_t count, float* to);

  // Whether some line[i], 0 <= i < count, is Inf or NaN.
  bool (*any_nonfinite)(const float* line, int64_t count);

  // The sum of line[i], 0 <= i < count, in FP32, by partial sums in four vectors.
  float (*sum)(const float* line, int64_t count);

  // sums[r] = the sum of from[p * plane_step + r * row_step + i], 0 <= p < planes, 0 <= i < count, in FP32, for
  // 0 <= r < rows. For short rows; the sum of one does not depend on the others.
  void (*sum_rows)(const float* from, int64_t row_step, int64_t rows, int64_t count, int64_t plane_step, int64_t planes,
                   float* sums);

  // sums[i] = the sum of from[r * step + i], 0 <= r < rows, of elements of a form, in FP32 and in the order of r, for
  // 0 <= i < count. Asks memory for the rows that follow, which need not be there.
  void (*sum_columns[convert::kForms])(const void* from, int64_t step, int64_t rows, int64_t count, float* sums);

  // to[i] = the sum of factors[r * factor_step] * from[r * step + i], 0 <= r < rows, in the order of r with one fused
  // multiply-add each, started at 0, for 0 <= i < count: a vector times a matrix whose rows are read as they stand.
  void (*weigh_rows)(const float* from, int64_t step, int64_t rows, const float* factors, int64_t factor_step,
                     int64_t count, float* to);

  // The sum of a line of BF16 numbers.
  float (*sum_bf16)(const uint16_t* line, int64_t count);

  // to[i] += from[i]; both aligned to 64 bytes, count a multiple of 16.
  void (*add)(const float* from, int64_t count, float* to);
};

// The kernels for the best instruction set that this processor has.
const LineKernels& Lines();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_LINES_CONTRACT_H_
