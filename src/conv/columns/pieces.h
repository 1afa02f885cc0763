// SPDX-License-Identifier: Apache-2.0
// Input images cut into boxes, each with the output pixels that some tap connects to it.
#ifndef CANOPY_CONV_COLUMNS_PIECES_H_
#define CANOPY_CONV_COLUMNS_PIECES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/checked_math.h"
#include "conv/problem.h"

namespace canopy::conv::columns {

struct Piece {
  int64_t image = 0;
  Extent3 low{}, high{};  // input coordinates [low, high)
  Extent3 from{}, to{};   // output coordinates
  Extent3 origin{};       // output coordinate whose last tap meets or precedes `low`; may be negative

  Extent3 size() const { return {high[0] - low[0], high[1] - low[1], high[2] - low[2]}; }
  int64_t reached(int axis) const { return std::max<int64_t>(0, to[axis] - from[axis]); }
  bool empty() const { return reached(0) == 0 || reached(1) == 0 || reached(2) == 0; }
};

class Pieces {
 public:
  Pieces() = default;
  Pieces(const Geometry& geometry, const Extent3& part) : g_(geometry), part_(part) {
    for (int axis = 0; axis < 3; ++axis) {
      part_[axis] = std::max<int64_t>(1, std::min(part[axis], g_.input_size[axis]));
      counts_[axis] = base::CeilDiv(g_.input_size[axis], part_[axis]);
      RankResidues(axis);
    }
  }

  const Extent3& part() const { return part_; }  // of a whole piece
  int64_t an_image() const { return counts_[0] * counts_[1] * counts_[2]; }
  int64_t count() const { return g_.batch * an_image(); }

  Piece At(int64_t index) const {
    Piece piece;
    piece.image = index / an_image();
    for (int axis = 2; axis >= 0; --axis) {
      piece.low[axis] = index % counts_[axis] * part_[axis];
      piece.high[axis] = std::min(g_.input_size[axis], piece.low[axis] + part_[axis]);
      index /= counts_[axis];
      const int64_t stride = g_.stride[axis], reach = (g_.kernel[axis] - 1) * g_.dilation[axis];
      const int64_t first = piece.low[axis] + g_.pad_begin[axis] - reach;
      piece.origin[axis] = FloorDiv(first, stride);
      piece.from[axis] = std::max<int64_t>(0, -FloorDiv(-first, stride));
      piece.to[axis] = std::min(g_.output_size[axis], FloorDiv(piece.high[axis] - 1 + g_.pad_begin[axis], stride) + 1);
    }
    return piece;
  }

  // Rows of a piece along an axis that some tap reaches, in order; those of the others are all 0.
  int64_t reached_rows(int axis) const { return base::CeilDiv(part_[axis], g_.stride[axis]) * residues_[axis]; }

  // The number of such a row, `row` rows behind the piece's first; -1 where no tap reaches it.
  int64_t ReachedRow(int axis, int64_t row) const {
    const int64_t rank = ranks_[axis][static_cast<size_t>(row % g_.stride[axis])];
    return rank < 0 ? -1 : row / g_.stride[axis] * residues_[axis] + rank;
  }

  // visit(first, count): runs of output pixels of a plane that lie side by side and together are all of the piece's.
  template <class F>
  void ForEachRun(const Piece& piece, const F& visit) const {
    if (piece.empty()) return;
    const int64_t height = g_.output_size[1], width = g_.output_size[2];
    const bool rows = piece.reached(2) == width, planes = rows && piece.reached(1) == height;
    if (planes) {
      visit(piece.from[0] * height * width, piece.reached(0) * height * width);
      return;
    }
    for (int64_t d = piece.from[0]; d < piece.to[0]; ++d) {
      if (rows) {
        visit((d * height + piece.from[1]) * width, piece.reached(1) * width);
        continue;
      }
      for (int64_t h = piece.from[1]; h < piece.to[1]; ++h) {
        visit((d * height + h) * width + piece.from[2], piece.reached(2));
      }
    }
  }

 private:
  // Pieces begin at multiples of the stride, so the same rows of each are reached.
  void RankResidues(int axis) {
    const int64_t stride = std::min(g_.stride[axis], std::max<int64_t>(1, g_.input_size[axis]));
    std::vector<int64_t>& ranks = ranks_[axis];
    ranks.assign(static_cast<size_t>(stride), -1);
    for (int64_t k = 0; k < g_.kernel[axis]; ++k) {
      const int64_t tap = k * g_.dilation[axis] - g_.pad_begin[axis];
      const int64_t residue = tap - FloorDiv(tap, g_.stride[axis]) * g_.stride[axis];
      if (residue < stride) ranks[static_cast<size_t>(residue)] = 0;
    }
    residues_[axis] = 0;
    for (int64_t& rank : ranks) {
      if (rank == 0) rank = residues_[axis]++;
    }
  }

  static int64_t FloorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

  Geometry g_;
  Extent3 part_{1, 1, 1}, counts_{}, residues_{};
  std::array<std::vector<int64_t>, 3> ranks_;  // of residues of input coordinates; beyond the image there are none
};

}  // namespace canopy::conv::columns

#endif  // CANOPY_CONV_COLUMNS_PIECES_H_
