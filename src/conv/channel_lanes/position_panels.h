// SPDX-License-Identifier: Apache-2.0
// How the positions of a box, the rows of its products, are dealt to tiles.
#ifndef CANOPY_CONV_CHANNEL_LANES_POSITION_PANELS_H_
#define CANOPY_CONV_CHANNEL_LANES_POSITION_PANELS_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"

namespace canopy::conv::channel_lanes {

// Positions, rows of them one after another, dealt to tiles: alike in number, or, for tiles that read rows of positions
// as a whole, parts of rows, the first of every row before the second of any, so that neighbours are alike; unless that
// leaves too much of a tile empty.
class PositionPanels {
 public:
  PositionPanels(int64_t rows, int64_t row, int64_t most, bool in_parts)
      : rows_(rows), row_(row), most_(most), parts_(base::CeilDiv(row, most)), whole_(in_parts) {
    in_parts_ = in_parts && row * 4 >= parts_ * most * 3;
    part_ = base::CeilDiv(row, parts_);
    count_ = in_parts_ ? rows * parts_ : base::CeilDiv(rows * row, most);
  }

  int64_t count() const { return count_; }
  // 0 behind the last.
  int64_t size(int64_t panel) const { return panel >= count_ ? 0 : first(panel + 1) - first(panel); }
  // Where position `at` of a row stands among all.
  int64_t Place(int64_t row, int64_t at) const {
    if (!in_parts_) return row * row_ + at;
    const int64_t begin = at / part_ * part_;
    return begin * rows_ + row * std::min(part_, row_ - begin) + at - begin;
  }

 private:
  int64_t first(int64_t panel) const {
    if (in_parts_) return panel == count_ ? rows_ * row_ : Place(panel % rows_, panel / rows_ * part_);
    return whole_ ? std::min(panel * most_, rows_ * row_) : panel * rows_ * row_ / count_;
  }

  int64_t rows_, row_, most_, parts_, part_, count_;
  bool in_parts_, whole_;  // whole: all but the last panel as large as can be
};

}  // namespace canopy::conv::channel_lanes

#endif  // CANOPY_CONV_CHANNEL_LANES_POSITION_PANELS_H_
