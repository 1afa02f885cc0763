// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_WINOGRAD_SIZES_H_
#define CANOPY_CONV_WINOGRAD_SIZES_H_

#include <cstdint>

namespace canopy::conv::winograd {

// Results, source pixels and kernel offsets of an axis. Weight gradients exchange results and kernel.
inline constexpr int64_t kTile = 4, kWindow = 6, kKernel = 3;

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_SIZES_H_
