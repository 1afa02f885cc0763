// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_sums/hfloat32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/row_sums/body-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {

const RowSumKernels& RowSumsHfloat32x11OfTarget() { return RowSumsOfTarget<Form::kHfloat32x11>(); }

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(RowSumsHfloat32x11OfTarget);

const RowSumKernels& RowSumsHfloat32x11() { return HWY_DYNAMIC_DISPATCH(RowSumsHfloat32x11OfTarget)(); }

}  // namespace canopy::kernels
#endif
