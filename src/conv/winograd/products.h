// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_WINOGRAD_PRODUCTS_H_
#define CANOPY_CONV_WINOGRAD_PRODUCTS_H_

#include <cstdint>

#include "kernels/split_gemm/contract.h"

namespace canopy::conv::winograd {

// What multiplies the numbers at the points: multiply-adds, or a matrix unit numbers in parts
// (kernels/split_gemm/contract.h).
enum class Products { kMultiplyAdds, kInParts };

inline constexpr int kParts = 3;
inline constexpr int64_t kPartPanel = kernels::SplitBlockFloats(kParts);

// More for a line of memory where the caches do not hold the tensors and windows are short rows of several lines.
inline constexpr double kWorkAFarLine = 24;

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_PRODUCTS_H_
