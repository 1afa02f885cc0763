// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_OPAPI_CONVOLUTION_BACKWARD_SUPPORT_H_
#define CANOPY_OPAPI_CONVOLUTION_BACKWARD_SUPPORT_H_

#include "opapi/dtypes.h"
#include "opapi/limits.h"
#include "product/product.h"

namespace canopy::opapi::convolution_backward {

// A row of support.inc, whose columns are explained there.
struct Support {
  product::Arch arch;
  DTypeSet plain_types;
  DTypeSet transposed_types;
  bool three_d;
  bool empty_path;
  bool same_types;
  bool bias_nd;
  bool wide_3d_weight;
};

inline constexpr Support kSupport[] = {
#define CANOPY_SUPPORT(arch, ...) {product::Arch::arch, __VA_ARGS__},
#include "opapi/convolution_backward/support.inc"
#undef CANOPY_SUPPORT
};

inline constexpr Limit kLimits[] = {
#define CANOPY_LIMIT(arch, ranks, directions, axes, quantity, low, high) \
  {product::Arch::arch, ranks, directions, axes, Quantity::quantity, low, high},
#include "opapi/convolution_backward/support.inc"
#undef CANOPY_LIMIT
};

// nullptr: the product does not offer the operator.
constexpr const Support* FindSupport(const product::Product& product) {
  for (const Support& support : kSupport) {
    if (support.arch == product.arch) return &support;
  }
  return nullptr;
}

}  // namespace canopy::opapi::convolution_backward

#endif  // CANOPY_OPAPI_CONVOLUTION_BACKWARD_SUPPORT_H_
