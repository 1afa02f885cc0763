// SPDX-License-Identifier: Apache-2.0
// A tensor's numbers as dot products take them: floats, or BF16 patterns.
#ifndef CANOPY_CONV_COLUMN_DOTS_NUMBERS_H_
#define CANOPY_CONV_COLUMN_DOTS_NUMBERS_H_

#include <cstdint>

#include "conv/packing/tap_slab.h"
#include "conv/pair_reader.h"
#include "conv/tensor_lines.h"

namespace canopy::conv::column_dots {

template <class T>
class Numbers;

template <>
class Numbers<float> : public LineReader {
 public:
  using LineReader::LineReader;

  // Those from an element on where they stand, or nullptr.
  const float* InPlace(int64_t offset) const { return Direct(offset, 1); }

  void FillSlab(const packing::TapSlab& slab, const ConvProblem& problem, const packing::Strip& strip,
                int64_t first_channel, int64_t channels, float* line, float* to) const {
    slab.Fill(problem, *this, strip, first_channel, channels, line, to);
  }
};

template <>
class Numbers<uint16_t> : public LineReader {
 public:
  Numbers(const void* base, numerics::DType dtype, const numerics::NumericRule& rule)
      : LineReader(base, dtype, rule), pairs_(base, dtype, rule) {}

  const uint16_t* InPlace(int64_t offset) const { return pairs_.DirectNumbers(offset); }

  void CopyRows(int64_t offset, int64_t step, int64_t rows, int64_t count, uint16_t* to, int64_t to_step) const {
    pairs_.FetchGrid(offset, step, rows, 1, count, to, to_step);
  }

  void FillSlab(const packing::TapSlab& slab, const ConvProblem& problem, const packing::Strip& strip,
                int64_t first_channel, int64_t channels, float* /*line*/, uint16_t* to) const {
    slab.Fill(problem, pairs_, strip, first_channel, channels, to);
  }

  void TakeFiniteOnly() {
    LineReader::TakeFiniteOnly();
    pairs_.TakeFiniteOnly();
  }

 private:
  PairReader pairs_;
};

}  // namespace canopy::conv::column_dots

#endif  // CANOPY_CONV_COLUMN_DOTS_NUMBERS_H_
