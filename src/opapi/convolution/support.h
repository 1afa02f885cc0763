// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_OPAPI_CONVOLUTION_SUPPORT_H_
#define CANOPY_OPAPI_CONVOLUTION_SUPPORT_H_

#include <iterator>
#include <limits>

#include "opapi/dtypes.h"
#include "opapi/limits.h"
#include "product/product.h"

namespace canopy::opapi::convolution {

enum EmptyTransposed { kInputExtents, kWeightExtents };

// A row of support.inc, whose columns are explained there.
struct Support {
  product::Arch arch;
  DTypeSet plain_types;
  DTypeSet transposed_types;
  bool only_plain_2d;
  EmptyTransposed empty_transposed;
};

inline constexpr Support kSupport[] = {
#define CANOPY_SUPPORT(arch, ...) {product::Arch::arch, __VA_ARGS__},
#include "opapi/convolution/support.inc"
#undef CANOPY_SUPPORT
};

inline constexpr int64_t kNoLow = std::numeric_limits<int64_t>::min();

inline constexpr Limit kLimits[] = {
#define CANOPY_LIMIT(arch, ranks, directions, axes, quantity, low, high) \
  {product::Arch::arch, ranks, directions, axes, Quantity::quantity, low, high},
#include "opapi/convolution/support.inc"
#undef CANOPY_LIMIT
};

static_assert(std::size(kSupport) == 5, "every architecture has a row");

constexpr const Support& SupportOf(const product::Product& product) {
  const Support* support = kSupport;
  while (support->arch != product.arch) ++support;
  return *support;
}

}  // namespace canopy::opapi::convolution

#endif  // CANOPY_OPAPI_CONVOLUTION_SUPPORT_H_
