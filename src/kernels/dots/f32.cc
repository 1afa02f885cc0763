// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dots/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/dots/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(DotsOfTarget);

const DotsKernels& Dots() { return HWY_DYNAMIC_DISPATCH(DotsOfTarget)(); }

}  // namespace canopy::kernels
#endif
