// SPDX-License-Identifier: Apache-2.0
// A product's rows dealt to panels as high as a tile at most. They are alike as far as can be, the first ones with a
// row more, so that one tile call can take many.
#ifndef CANOPY_CONV_PACKING_ROW_PANELS_H_
#define CANOPY_CONV_PACKING_ROW_PANELS_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"

namespace canopy::conv::packing {

class RowPanels {
 public:
  RowPanels(int64_t rows, int64_t most_rows)
      : count_(base::CeilDiv(rows, most_rows)),
        least_(rows / std::max<int64_t>(1, count_)),
        longer_(rows % std::max<int64_t>(1, count_)) {}

  int64_t count() const { return count_; }
  int64_t longer() const { return longer_; }  // panels with a row more
  int64_t first(int64_t panel) const { return panel * least_ + std::min(panel, longer_); }
  int64_t rows(int64_t panel) const { return least_ + (panel < longer_ ? 1 : 0); }
  // Panels from `panel` on that have as many rows.
  int64_t Alike(int64_t panel) const { return (panel < longer_ ? longer_ : count_) - panel; }

 private:
  int64_t count_, least_, longer_;
};

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_ROW_PANELS_H_
