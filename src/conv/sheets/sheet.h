// SPDX-License-Identifier: Apache-2.0
// Sheets: planes of one channel with zeros around them, those of several images side by side where planes are narrow,
// so that vectors of neighbouring pixels are full. In a sheet every tap is a constant shift.
#ifndef CANOPY_CONV_SHEETS_SHEET_H_
#define CANOPY_CONV_SHEETS_SHEET_H_

#include <cstdint>

#include "conv/problem.h"
#include "conv/tensor_lines.h"
#include "kernels/convert/forms.h"

namespace canopy::conv::sheets {

// How many images a sheet has, and the floats from one to the next.
struct Fold {
  int64_t images = 1, image_pitch = 0;

  int64_t Width(int64_t columns) const { return (images - 1) * image_pitch + columns; }
};

// As many images as make vectors of `columns` results full, while a sheet of `rows` fits the first-level cache.
Fold ChooseFold(int64_t batch, int64_t columns, int64_t image_pitch, int64_t rows, int64_t lanes);

// A row pitch of at least `floats`: whole vectors whose rows do not share their places in the first-level cache.
int64_t RowPitch(int64_t floats, int64_t lanes);

// Rows and columns of a plane of a tensor, and how far from one taken row to the next.
struct PlanePart {
  int64_t first_row = 0, row_step = 1, rows = 0;
  int64_t first_column = 0, columns = 0;
};

// Planes read to sheets and written from rows of results, converted on the way. `line` has LineFloats().
class PlaneReader {
 public:
  PlaneReader(const void* base, const Operand& operand, const numerics::NumericRule& rule)
      : reader_(base, operand.dtype, rule),
        form_(kernels::convert::FormRead(operand.dtype, rule)),
        strides_(operand.strides),
        row_bytes_(operand.strides[3] * numerics::ElementBytes(operand.dtype)) {}

  void TakeFiniteOnly() {
    reader_.TakeFiniteOnly();
    form_ = kernels::convert::Form::kOther;
  }

  // Element (image, channel, depth, 0, 0).
  int64_t PlaneAt(int64_t image, int64_t channel, int64_t depth) const {
    return image * strides_[0] + channel * strides_[1] + depth * strides_[2];
  }

  // Rows to `to`, or every second element to `to` and those between to `odd` unless that is nullptr. Zeros follow each
  // row up to a vector's end.
  void Load(int64_t plane, const PlanePart& part, int64_t to_row, float* line, float* to, float* odd) const;

  // The elements from `element` on where they may be read without conversion, else nullptr.
  const float* Direct(int64_t element) const { return reader_.Direct(element, strides_[4]); }

  // Where an element lies or would.
  const char* Address(int64_t element) const { return static_cast<const char*>(reader_.Address(element)); }
  int64_t row_bytes() const { return row_bytes_; }

  // Asks for the rows to be brought to the first-level cache.
  void Prefetch(int64_t plane, const PlanePart& part) const;

 private:
  LineReader reader_;
  kernels::convert::Form form_;  // that rows are moved in; kOther: by way of lines
  std::array<int64_t, 5> strides_;
  int64_t row_bytes_;
};

class PlaneWriter {
 public:
  PlaneWriter(void* base, const Operand& operand, bool saturate)
      : writer_(base, operand.dtype, saturate),
        form_(kernels::convert::FormWritten(operand.dtype, saturate)),
        base_(static_cast<char*>(base)),
        element_bytes_(numerics::ElementBytes(operand.dtype)),
        strides_(operand.strides) {}

  char* Address(int64_t element) const { return base_ + element * element_bytes_; }

  int64_t PlaneAt(int64_t image, int64_t channel, int64_t depth) const {
    return image * strides_[0] + channel * strides_[1] + depth * strides_[2];
  }

  // Where the rows may be written without conversion, else nullptr.
  float* Direct(int64_t plane, const PlanePart& part) const {
    return writer_.Direct(plane + part.first_row * strides_[3] + part.first_column * strides_[4], strides_[4]);
  }
  int64_t row_stride() const { return strides_[3]; }

  // The converse of Load; from sheets of whole vectors where there is `odd`.
  void Store(const float* from, const float* odd, int64_t from_row, const PlanePart& part, float* line,
             int64_t plane) const;

 private:
  LineWriter writer_;
  kernels::convert::Form form_;
  char* base_;
  int64_t element_bytes_;
  std::array<int64_t, 5> strides_;
};

// What conversions take at a time, at least a row of `columns`.
int64_t LineFloats(int64_t columns);

// All taps of one channel after another's, row by row, of `channels` from `first` on, of depthwise weights.
void FetchWeights(const LineReader& weight, const ConvProblem& problem, int64_t first, int64_t channels, float* to);

// Those of all channels; whether they were not finite, and others stand in.
bool FetchFiniteWeights(const ConvProblem& problem, LineReader* weight, float* to);

// The converse of FetchWeights, to weight gradients.
void StoreWeights(const LineWriter& weight_result, const ConvProblem& problem, int64_t first, int64_t channels,
                  const float* sums);

// Bias gradients of channels from `first` on.
void StoreBiases(const ConvProblem& problem, const Buffers& buffers, int64_t first, int64_t channels,
                 const float* sums);

}  // namespace canopy::conv::sheets

#endif  // CANOPY_CONV_SHEETS_SHEET_H_
