// SPDX-License-Identifier: Apache-2.0
#include "conv/row_winograd/lines.h"

#include <algorithm>

#include "base/checked_math.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::row_winograd {
namespace {

constexpr double kMostAligned = 1.15;  // of what is needed

}  // namespace

AxisShifts::AxisShifts(const Geometry& g, int axis, bool from_output) {
  for (int64_t k = 0; k < g.kernel[axis]; ++k) {
    const int64_t shift = k * g.dilation[axis] - g.pad_begin[axis];
    shifts_.push_back(from_output ? shift : -shift);
  }
}

int64_t AxisShifts::least() const { return *std::min_element(shifts_.begin(), shifts_.end()); }
int64_t AxisShifts::greatest() const { return *std::max_element(shifts_.begin(), shifts_.end()); }

Lines::Lines(int64_t batch, const Extent3& size, int64_t source_columns, int64_t tile, const AxisShifts& columns)
    : tiles_(base::CeilDiv(size[1], tile)),
      tile_(tile),
      depths_(size[0]),
      segments_(batch * size[0] * tiles_),
      columns_(size[2]),
      source_columns_(source_columns),
      left_(std::max<int64_t>(0, -columns.least())),
      right_(std::max<int64_t>(0, columns.greatest())),
      pitch_(std::max(columns_ + right_, source_columns + left_)) {
  // Vectors that do not straddle lines of memory are worth some zeros.
  const int64_t aligned = base::RoundUp(pitch_, kernels::kWinogradLanes);
  if (static_cast<double>(aligned) > kMostAligned * static_cast<double>(pitch_)) return;
  pitch_ = aligned;
  left_ = base::RoundUp(left_, kernels::kWinogradLanes);
}

void Lines::Cut(int64_t positions) {
  const int64_t most = std::clamp<int64_t>(positions / pitch_, 1, segments_);
  a_line_ = base::PartSize(segments_, most);
}

std::span<const SegmentRun> Lines::ListRuns(int64_t line, SegmentRun* runs) const {
  const int64_t segments = SegmentsOf(line);
  size_t count = 0;
  int64_t plane = line * a_line_ / tiles_, tile = line * a_line_ % tiles_;
  for (int64_t n = 0; n < segments; ++plane, tile = 0) {
    const int64_t tiles = std::min(tiles_ - tile, segments - n);
    runs[count++] = {plane / depths_, plane % depths_, tile * tile_, tiles, n * pitch_};
    n += tiles;
  }
  return {runs, count};
}

}  // namespace canopy::conv::row_winograd
