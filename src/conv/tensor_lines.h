// SPDX-License-Identifier: Apache-2.0
// Tensors read and written line by line, with the conversions of the numeric rule on the way.
#ifndef CANOPY_CONV_TENSOR_LINES_H_
#define CANOPY_CONV_TENSOR_LINES_H_

#include <cstdint>

#include "conv/problem.h"
#include "kernels/ask.h"
#include "kernels/convert/contract.h"
#include "kernels/convert/forms.h"
#include "kernels/lines/contract.h"
#include "kernels/streams.h"
#include "numerics/rounding.h"

namespace canopy::conv {

class LineReader {
 public:
  LineReader(const void* base, numerics::DType dtype, const numerics::NumericRule& rule)
      : base_(static_cast<const char*>(base)),
        dtype_(dtype),
        plain_(dtype == numerics::DType::kFloat32 && rule.input_rounding == numerics::InputRounding::kNone),
        form_(kernels::convert::FormRead(dtype, rule)),
        load_row_(kernels::convert::SelectLoadRow(dtype, rule)) {}

  // From here on elements that are not finite read as 1 with their sign.
  void TakeFiniteOnly() {
    finite_only_ = true;
    form_ = kernels::convert::Form::kOther;
  }

  // line[segment.begin + i] = element offset + segment.source + i * step, rounded; 0 elsewhere below `length`.
  // `line` has kernels::kLineSlack floats of slack.
  void Fetch(int64_t offset, const kernels::Segment* segments, int64_t segment_count, int64_t step, int64_t length,
             float* line) const;

  // to[i] = element offset + i, rounded, 0 <= i < count. Writes nothing else.
  void FetchRun(int64_t offset, int64_t count, float* to) const;

  // to[r * count + i] = element offset + r * row_step + i * step, rounded, 0 <= r < rows, 0 <= i < count. Writes
  // nothing else.
  void FetchGrid(int64_t offset, int64_t row_step, int64_t rows, int64_t step, int64_t count, float* to) const;

  // The same of neighbouring columns under a step of two: even[...] is element offset + r * row_step + 2 * i, odd[...]
  // the one behind it.
  void FetchGridPair(int64_t offset, int64_t row_step, int64_t rows, int64_t count, float* even, float* odd) const;

  // Whether it transposes elements where they lie; lines must be fetched and transposed otherwise.
  bool Transposes() const { return form_ != kernels::convert::Form::kOther; }

  // to[column_offsets[j] + i] = element offset + i * step + j, rounded, 0 <= i < rows, 0 <= j < columns; false: nothing
  // was done, for it does not transpose. Writes nothing else.
  bool Transpose(int64_t offset, int64_t step, int64_t rows, int64_t columns, float* to,
                 const int64_t* column_offsets) const {
    if (!Transposes()) return false;
    kernels::Lines().transpose_form[static_cast<int>(form_)](Address(offset), step, rows, columns, to, column_offsets);
    return true;
  }

  // to[r * to_step + i] = element offset + r * step + i, rounded, 0 <= r < rows, 0 <= i < count. Writes nothing else.
  void CopyRows(int64_t offset, int64_t step, int64_t rows, int64_t count, float* to, int64_t to_step) const;

  // What kernels that read elements themselves make of them; kOther: they cannot.
  kernels::convert::Form form() const { return form_; }

  // Where element `offset` lies or would.
  const void* Address(int64_t offset) const { return base_ + offset * element_bytes(); }

  // sums[i] = the sum of elements offset + r * step + i, 0 <= r < rows, as they lie in memory, in the order of r, in
  // FP32, for 0 <= i < count. REQUIRES: FP32, FP16 or BF16.
  void SumColumns(int64_t offset, int64_t step, int64_t rows, int64_t count, float* sums) const {
    const int form = static_cast<int>(kernels::convert::FormRead(dtype_, {}));
    kernels::Lines().sum_columns[form](Address(offset), step, rows, count, sums);
  }

  int64_t element_bytes() const { return numerics::ElementBytes(dtype_); }

  // Asks for elements offset + i, 0 <= i < count, to be brought to the L1.
  void Prefetch(int64_t offset, int64_t count) const {
    const char* from = base_ + offset * element_bytes();
    for (int64_t i = 0; i < count * element_bytes(); i += kernels::kMemoryLine) kernels::AskNear(from + i);
  }
  // Likewise to the L2: for short runs that lie far apart.
  void PrefetchToL2(int64_t offset, int64_t count) const {
    const char* from = base_ + offset * element_bytes();
    for (int64_t i = 0; i < count * element_bytes(); i += kernels::kMemoryLine) kernels::Ask(from + i);
  }

  // The sum of elements offset + i, 0 <= i < count, as they lie in memory, in FP32. REQUIRES: FP32 or BF16.
  float Sum(int64_t offset, int64_t count) const {
    const void* from = Address(offset);
    return dtype_ == numerics::DType::kFloat32 ? kernels::Lines().sum(static_cast<const float*>(from), count)
                                               : kernels::Lines().sum_bf16(static_cast<const uint16_t*>(from), count);
  }

  // The sum of such sums over `lines` lines, line_step elements apart, added up in their order.
  float SumLines(int64_t offset, int64_t line_step, int64_t lines, int64_t count) const {
    float sum = 0;
    for (int64_t i = 0; i < lines; ++i) sum += Sum(offset + i * line_step, count);
    return sum;
  }

  // The elements themselves where lines of this step need no copy, else nullptr.
  const float* Direct(int64_t offset, int64_t step) const {
    return plain_ && !finite_only_ && step == 1 ? reinterpret_cast<const float*>(base_) + offset : nullptr;
  }

 private:
  void FetchSegments(int64_t offset, const kernels::Segment* segments, int64_t segment_count, int64_t step,
                     int64_t length, float* line) const;
  void FetchStrided(const char* from, int64_t count, int64_t step, float* to) const;

  const char* base_;
  numerics::DType dtype_;
  bool plain_;  // FP32 as it is
  bool finite_only_ = false;
  kernels::convert::Form form_;  // that kernels read elements in; kOther: by way of lines
  kernels::convert::LoadRowFn load_row_;
};

class LineWriter {
 public:
  LineWriter(void* base, numerics::DType dtype, bool saturate)
      : base_(static_cast<char*>(base)),
        dtype_(dtype),
        plain_(dtype == numerics::DType::kFloat32 && !saturate),
        store_row_(kernels::convert::SelectStoreRow(dtype, saturate)) {}

  // Element offset + segment.source + i * step = line[segment.begin + i], rounded once.
  void Store(int64_t offset, const kernels::Segment* segments, int64_t segment_count, int64_t step,
             const float* line) const;

  // Element offset + i * step = the number `first + i` of lines that hold every phases-th in turn, rounded once, 0 <= i
  // < count: number n is lines[n % phases * apart + n / phases]. `line` has room for first % phases + count numbers,
  // rounded up to the phases, and kernels::kLineSlack of slack; of one phase it has none.
  void StorePhases(int64_t offset, int64_t step, const float* lines, int64_t apart, int64_t phases, int64_t first,
                   int64_t count, float* line) const;

  // Of types of 2 bytes: element offset + 2 * i = line[i], 0 <= i < count, rounded once, and 0 elsewhere in [offset,
  // offset + length); length > 2 * (count - 1).
  void StoreSeconds(int64_t offset, const float* line, int64_t count, int64_t length) const;

  // Where element `offset` lies or would.
  const void* Address(int64_t offset) const { return base_ + offset * numerics::ElementBytes(dtype_); }

  // Asks for where elements offset + i, 0 <= i < count, are written to be brought to the L1.
  void Prefetch(int64_t offset, int64_t count) const {
    const int64_t bytes = numerics::ElementBytes(dtype_);
    const char* to = base_ + offset * bytes;
    for (int64_t i = 0; i < count * bytes; i += kernels::kMemoryLine) kernels::AskToWrite(to + i);
  }

  // Where lines of this step may be written without conversion, else nullptr.
  float* Direct(int64_t offset, int64_t step) const {
    return plain_ && step == 1 ? reinterpret_cast<float*>(base_) + offset : nullptr;
  }

 private:
  char* base_;
  numerics::DType dtype_;
  bool plain_;  // FP32 as it is
  kernels::convert::StoreRowFn store_row_;
};

}  // namespace canopy::conv

#endif  // CANOPY_CONV_TENSOR_LINES_H_
