// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_points/products.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/row_points/products-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(RowProductsOfTarget);

const RowProductsKernels& AllRowProducts() { return HWY_DYNAMIC_DISPATCH(RowProductsOfTarget)(); }

}  // namespace canopy::kernels
#endif
