// SPDX-License-Identifier: Apache-2.0
// Rows of a tensor's elements, each wherever it likes: read into rows of floats one behind another, and written from
// such, with the conversions of the numeric rule on the way.
#ifndef CANOPY_CONV_FEW_PAIRS_ROWS_H_
#define CANOPY_CONV_FEW_PAIRS_ROWS_H_

#include <cstdint>
#include <vector>

#include "numerics/rounding.h"

namespace canopy::conv::few_pairs {

struct Rows {
  numerics::DType dtype{};
  std::vector<int64_t> offsets;  // of each row's first element, in bytes
  int64_t count = 0, step = 0;   // elements of a row, and bytes from each to the next
  int64_t pitch = 0;             // floats from row to row, those behind a row's elements being 0

  int64_t floats() const { return static_cast<int64_t>(offsets.size()) * pitch; }
};

// `raw` is working memory of rows.floats() floats.
void Read(const void* base, const Rows& rows, const numerics::NumericRule& rule, char* raw, float* to);
void Write(const float* from, const Rows& rows, bool saturate, char* raw, void* base);

}  // namespace canopy::conv::few_pairs

#endif  // CANOPY_CONV_FEW_PAIRS_ROWS_H_
