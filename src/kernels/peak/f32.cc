// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peak/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/peak/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(SpinOnTarget);

double SpinFma(int64_t rounds) { return HWY_DYNAMIC_DISPATCH(SpinOnTarget)(rounds); }

}  // namespace canopy::kernels
#endif
