// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_sums/bfloat16.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/row_sums/body-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {

const RowSumKernels& RowSumsBFloat16OfTarget() { return RowSumsOfTarget<Form::kBFloat16>(); }

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(RowSumsBFloat16OfTarget);

const RowSumKernels& RowSumsBFloat16() { return HWY_DYNAMIC_DISPATCH(RowSumsBFloat16OfTarget)(); }

}  // namespace canopy::kernels
#endif
