// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_WEIGHT_LANES_LIMITS_H_
#define CANOPY_CONV_WEIGHT_LANES_LIMITS_H_

#include <cstdint>

#include "conv/packing/lane_panels.h"

namespace canopy::conv::weight_lanes {

inline constexpr int64_t kMostPixels = 256;  // of output, all images: the terms of a weight's gradient are one sum

// Pixels as lanes, one block of them.
inline packing::LanePanels PixelPanels(int64_t pixels) { return packing::LanePanels(pixels, 2 * kMostPixels); }

}  // namespace canopy::conv::weight_lanes

#endif  // CANOPY_CONV_WEIGHT_LANES_LIMITS_H_
