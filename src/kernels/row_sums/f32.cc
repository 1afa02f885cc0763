// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_sums/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/row_sums/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(RowSumsOfTarget);

const RowSumKernels& RowSums() { return HWY_DYNAMIC_DISPATCH(RowSumsOfTarget)(); }

}  // namespace canopy::kernels
#endif
