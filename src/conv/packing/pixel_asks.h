// SPDX-License-Identifier: Apache-2.0
// Which of the coming pixels each row panel of a tile product asks memory for. Planes are too far apart for the
// processor to foresee them, and memory is slower than the products of one panel: where there are panels enough each
// asks for one line of a tile's pixels, else the first for all lines. Where a term is a pair of channels, panels take
// turns with the two.
#ifndef CANOPY_CONV_PACKING_PIXEL_ASKS_H_
#define CANOPY_CONV_PACKING_PIXEL_ASKS_H_

#include <cstdint>

#include "base/checked_math.h"

namespace canopy::conv::packing {

class PixelAsks {
 public:
  PixelAsks(int64_t tile_pixels, int64_t element_bytes, int64_t channels_a_term, int64_t row_panels)
      : channels_(channels_a_term),
        lines_(base::CeilDiv(tile_pixels * element_bytes, kCacheLine)),
        apart_(lines_ > 1 && row_panels >= lines_ * channels_) {}

  bool Asks(int64_t panel) const { return panel < (apart_ ? lines_ : 1) * channels_; }
  // Of a term, and from a tile's first pixel on. REQUIRES: Asks(panel).
  int64_t Channel(int64_t panel) const { return panel % channels_; }
  int64_t FirstByte(int64_t panel) const { return panel / channels_ * kCacheLine; }
  // From the line that a tile's vector asks for to the next one's.
  int64_t LineStep() const { return apart_ ? 0 : kCacheLine; }

 private:
  static constexpr int64_t kCacheLine = 64;

  int64_t channels_, lines_;
  bool apart_;
};

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_PIXEL_ASKS_H_
