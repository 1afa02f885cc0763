// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_points/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/row_points/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(RowPointsOfTarget);

const RowPointsKernels& RowPoints() { return HWY_DYNAMIC_DISPATCH(RowPointsOfTarget)(); }

}  // namespace canopy::kernels
#endif
