// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_WINOGRAD_SIZES_H_
#define CANOPY_CONV_WINOGRAD_SIZES_H_

#include <cstdint>

namespace canopy::conv::winograd {

inline constexpr int64_t kWindow = 6;  // source pixels of a tile along an axis

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_SIZES_H_
