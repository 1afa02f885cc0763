// SPDX-License-Identifier: Apache-2.0
// How planes are laid out at the points. Results, or the rows of the output that weight gradients multiply, are cut
// into tiles of a few rows each; a tile is a segment of a line at each point, and so is the window of six rows under
// it. Segments of a line lie one behind another, zeros that both share between them, so that every kernel offset along
// the width is a constant shift of one flat index. Positions between segments are computed and thrown away.
#ifndef CANOPY_CONV_ROW_WINOGRAD_LINES_H_
#define CANOPY_CONV_ROW_WINOGRAD_LINES_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/checked_math.h"
#include "conv/problem.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::row_winograd {

// What kernel offsets add to a coordinate along an axis to give the coordinate that it meets.
class AxisShifts {
 public:
  AxisShifts() = default;
  // From the output to the input, or from the input to the output.
  AxisShifts(const Geometry& geometry, int axis, bool from_output);

  int64_t count() const { return std::ssize(shifts_); }
  int64_t operator[](int64_t offset) const { return shifts_[static_cast<size_t>(offset)]; }
  int64_t least() const;
  int64_t greatest() const;

 private:
  std::vector<int64_t> shifts_;  // by kernel offset
};

// Segments of one plane in a line: tiles from row `row` on.
struct SegmentRun {
  int64_t image, depth, row, tiles;
  int64_t position;  // of the first segment
};

// Of a line at a point with so many floats: an odd number of lines of memory keeps channels apart in the sets of the
// L1.
inline int64_t LineFloats(int64_t floats) {
  return base::RoundUp(floats, 2 * kernels::kWinogradLanes) + kernels::kWinogradLanes;
}

class Lines {
 public:
  Lines() = default;
  // Of `batch` images of `size`, whose columns meet those of `source_columns` by `columns`.
  Lines(int64_t batch, const Extent3& size, int64_t source_columns, int64_t tile, const AxisShifts& columns);

  // As many segments a line as `positions` have room for, at least one.
  void Cut(int64_t positions);

  int64_t count() const { return base::CeilDiv(segments_, a_line_); }
  int64_t segments() const { return segments_; }
  // Of line `line`.
  int64_t SegmentsOf(int64_t line) const { return std::min(a_line_, segments_ - line * a_line_); }
  int64_t PositionsOf(int64_t line) const { return Positions(SegmentsOf(line)); }
  // The runs that a line consists of, listed in `runs`, which has room for most_runs().
  std::span<const SegmentRun> ListRuns(int64_t line, SegmentRun* runs) const;
  int64_t most_runs() const { return std::min(a_line_, (a_line_ + tiles_ - 2) / tiles_ + 1); }

  int64_t columns() const { return columns_; }
  int64_t source_columns() const { return source_columns_; }
  int64_t tile() const { return tile_; }    // rows
  int64_t pitch() const { return pitch_; }  // from segment to segment
  int64_t MostPositions() const { return Positions(a_line_); }
  int64_t MostSegments() const { return a_line_; }
  int64_t MostFloats() const { return a_line_ * pitch_; }
  // Rows that a run's windows of so many rows reach at most.
  int64_t MostRows(int64_t window) const { return (std::min(a_line_, tiles_) - 1) * tile_ + window; }
  // Floats before a source's first column, and of zeros behind its last segment.
  int64_t left() const { return left_; }
  int64_t right() const { return right_; }

 private:
  int64_t Positions(int64_t segments) const { return (segments - 1) * pitch_ + columns_; }

  int64_t tiles_ = 0, tile_ = 1, depths_ = 0, segments_ = 0;
  int64_t columns_ = 0, source_columns_ = 0, left_ = 0, right_ = 0, pitch_ = 1;
  int64_t a_line_ = 1;
};

}  // namespace canopy::conv::row_winograd

#endif  // CANOPY_CONV_ROW_WINOGRAD_LINES_H_
