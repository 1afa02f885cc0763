// SPDX-License-Identifier: Apache-2.0
// Planes read to sheets of BF16 patterns, as PlaneReader reads them to sheets of floats.
#ifndef CANOPY_CONV_SHEETS_PATTERN_PLANES_H_
#define CANOPY_CONV_SHEETS_PATTERN_PLANES_H_

#include <cstdint>

#include "conv/pair_reader.h"
#include "conv/sheets/sheet.h"

namespace canopy::conv::sheets {

class PatternPlanes : public PlaneReader {
 public:
  // REQUIRES: what the rule makes of the elements is BF16, and pixels of a row lie side by side.
  PatternPlanes(const void* base, const Operand& operand, const numerics::NumericRule& rule)
      : PlaneReader(base, operand, rule), pairs_(base, operand.dtype, rule), row_(operand.strides[3]) {}

  void TakeFiniteOnly() { pairs_.TakeFiniteOnly(); }

  // Rows to `to`, or every second element to `to` and those between to `odd` unless that is nullptr. Writes nothing
  // else.
  void Load(int64_t plane, const PlanePart& part, int64_t to_row, float* /*line*/, uint16_t* to, uint16_t* odd) const {
    const int64_t first = plane + part.first_row * row_ + part.first_column, step = part.row_step * row_;
    if (odd == nullptr) return pairs_.FetchGrid(first, step, part.rows, 1, part.columns, to, to_row);
    pairs_.FetchGrid(first, step, part.rows, 2, (part.columns + 1) / 2, to, to_row);
    pairs_.FetchGrid(first + 1, step, part.rows, 2, part.columns / 2, odd, to_row);
  }

 private:
  PairReader pairs_;
  int64_t row_;
};

}  // namespace canopy::conv::sheets

#endif  // CANOPY_CONV_SHEETS_PATTERN_PLANES_H_
