// SPDX-License-Identifier: Apache-2.0
// Tensors read line by line as pairs of BF16 numbers, the elements of dot products. A pair travels as the float of its
// bits.
#ifndef CANOPY_CONV_PAIR_READER_H_
#define CANOPY_CONV_PAIR_READER_H_

#include <cstdint>

#include "conv/tensor_lines.h"

namespace canopy::conv {

class PairReader {
 public:
  // REQUIRES: what the rule makes of the elements is BF16.
  PairReader(const void* base, numerics::DType dtype, const numerics::NumericRule& rule)
      : base_(static_cast<const uint16_t*>(base)),
        plain_(dtype == numerics::DType::kBFloat16 && rule.input_rounding == numerics::InputRounding::kNone),
        reader_(base, dtype, rule),
        narrow_(kernels::convert::SelectStoreRow(numerics::DType::kBFloat16, false)),
        lines_(kernels::Lines()) {}

  // From here on elements that are not finite read as 1 with their sign.
  void TakeFiniteOnly() {
    plain_ = false;
    reader_.TakeFiniteOnly();
  }

  // to[i] = the pair of elements first + i * step and first + distance + i * step, 0 <= i < count; where `alone`, of
  // the former and 0. Writes nothing else.
  void FetchLine(int64_t first, int64_t distance, bool alone, int64_t step, int64_t count, float* to) const;

  // The same of `rows` lines, row_step apart: to[r * to_step + i]. Writes nothing else.
  void FetchGrid(int64_t first, int64_t distance, bool alone, int64_t row_step, int64_t rows, int64_t step,
                 int64_t count, float* to, int64_t to_step) const;

  // to[k * to_step + i] = the pair of elements i, 0 <= i < count, of rows 2 * k and 2 * k + 1 of `rows` that begin at
  // offset + row * row_step; 0 completes the pairs of a last row alone. Writes nothing else.
  void ZipRows(int64_t offset, int64_t row_step, int64_t rows, int64_t count, float* to, int64_t to_step) const;

  // The pairs from element `offset` on where they stand, or nullptr where they must be fetched.
  const float* Direct(int64_t offset) const {
    const uint16_t* from = base_ + offset;
    const bool aligned = reinterpret_cast<uintptr_t>(from) % sizeof(float) == 0;
    return plain_ && aligned ? reinterpret_cast<const float*>(from) : nullptr;
  }

  // The numbers from element `offset` on where they stand, or nullptr likewise.
  const uint16_t* DirectNumbers(int64_t offset) const { return plain_ ? base_ + offset : nullptr; }

  // The `count` elements from `offset` on, pair by pair; 0 completes the last. Writes nothing else.
  void FetchRun(int64_t offset, int64_t count, float* to) const;

  // to[i] = element offset + i * step, 0 <= i < count. Writes nothing else.
  void FetchNumbers(int64_t offset, int64_t step, int64_t count, uint16_t* to) const;

  // The same of rows: to[r * to_step + i] = element offset + r * row_step + i * step, 0 <= r < rows.
  void FetchGrid(int64_t offset, int64_t row_step, int64_t rows, int64_t step, int64_t count, uint16_t* to,
                 int64_t to_step) const;

  void PrefetchToL2(int64_t offset, int64_t count) const { reader_.PrefetchToL2(offset, count); }

 private:
  static constexpr int64_t kChunk = 256;

  // Elements offset + i * step, 0 <= i < count <= kChunk: where they are, or in `chunk`.
  const uint16_t* Line(int64_t offset, int64_t step, int64_t count, uint16_t* chunk) const;

  const uint16_t* base_;
  bool plain_;  // BF16 as it is
  LineReader reader_;
  kernels::convert::StoreRowFn narrow_;
  const kernels::LineKernels& lines_;  // asked for once: lines are short
};

}  // namespace canopy::conv

#endif  // CANOPY_CONV_PAIR_READER_H_
