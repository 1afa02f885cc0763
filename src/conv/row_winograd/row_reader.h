// SPDX-License-Identifier: Apache-2.0
// Rows of a tensor on their way to the points.
#ifndef CANOPY_CONV_ROW_WINOGRAD_ROW_READER_H_
#define CANOPY_CONV_ROW_WINOGRAD_ROW_READER_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "conv/problem.h"
#include "conv/tensor_lines.h"
#include "kernels/row_points/contract.h"

namespace canopy::conv::row_winograd {

class RowReader {
 public:
  // Of planes of `size` whose rows' pixels lie side by side, `window` rows for each tile.
  RowReader(const void* base, const Operand& operand, const numerics::NumericRule& rule, const Extent3& size,
            int64_t window)
      : reader_(base, operand.dtype, rule), strides_(operand.strides), size_(size), window_(window) {}

  // What the kernels read rows in.
  kernels::convert::Form form() const { return Converts() ? kernels::convert::Form::kFloat32 : reader_.form(); }

  // Sets the rows of `tiles` tiles, as many rows apart as the call has, from `row` on in a channel of all groups.
  // `rows` holds converted rows, where kernels do not convert them.
  void Set(int64_t image, int64_t channel, int64_t depth, int64_t row, int64_t tiles, float* rows,
           kernels::RowsToPoints* call) const {
    call->row = row;
    call->tiles = tiles;
    call->height = depth >= 0 && depth < size_[0] ? size_[1] : 0;
    call->count = size_[2];
    const int64_t plane = At(image, channel, depth, 0);
    if (!Converts()) {
      call->row_step = strides_[3];
      call->plane = reader_.Address(plane);
      return;
    }
    const int64_t begin = std::max<int64_t>(0, row);
    const int64_t end = std::min(call->height, row + (tiles - 1) * call->tile_rows + window_);
    for (int64_t r = begin; r < end; ++r)
      reader_.FetchRun(plane + r * strides_[3], size_[2], rows + (r - begin) * size_[2]);
    call->row -= begin;
    call->height = std::max<int64_t>(0, end - begin);
    call->row_step = size_[2];
    call->plane = rows;
  }

  const char* Address(int64_t image, int64_t channel, int64_t depth, int64_t row) const {
    return static_cast<const char*>(reader_.Address(At(image, channel, depth, row)));
  }
  int64_t channel_bytes() const { return strides_[1] * reader_.element_bytes(); }
  int64_t row_bytes() const { return strides_[3] * reader_.element_bytes(); }

 private:
  bool Converts() const { return reader_.form() == kernels::convert::Form::kOther; }
  int64_t At(int64_t image, int64_t channel, int64_t depth, int64_t row) const {
    return image * strides_[0] + channel * strides_[1] + depth * strides_[2] + row * strides_[3];
  }

  LineReader reader_;
  std::array<int64_t, 5> strides_;
  Extent3 size_;
  int64_t window_;
};

}  // namespace canopy::conv::row_winograd

#endif  // CANOPY_CONV_ROW_WINOGRAD_ROW_READER_H_
