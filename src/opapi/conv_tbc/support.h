// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_OPAPI_CONV_TBC_SUPPORT_H_
#define CANOPY_OPAPI_CONV_TBC_SUPPORT_H_

#include "opapi/dtypes.h"
#include "opapi/limits.h"
#include "product/product.h"

namespace canopy::opapi::conv_tbc {

// A row of support.inc, whose columns are explained there.
struct Support {
  product::Arch arch;
  DTypeSet types;
  DTypeSet bias_types;
  bool bias_tag;
};

inline constexpr Support kSupport[] = {
#define CANOPY_SUPPORT(arch, ...) {product::Arch::arch, __VA_ARGS__},
#include "opapi/conv_tbc/support.inc"
#undef CANOPY_SUPPORT
};

inline constexpr Limit kLimits[] = {
#define CANOPY_LIMIT(arch, ranks, directions, axes, quantity, low, high) \
  {product::Arch::arch, ranks, directions, axes, Quantity::quantity, low, high},
#include "opapi/conv_tbc/support.inc"
#undef CANOPY_LIMIT
};

// nullptr: the product does not offer the operator.
constexpr const Support* FindSupport(const product::Product& product) {
  for (const Support& support : kSupport) {
    if (support.arch == product.arch) return &support;
  }
  return nullptr;
}

}  // namespace canopy::opapi::conv_tbc

#endif  // CANOPY_OPAPI_CONV_TBC_SUPPORT_H_
