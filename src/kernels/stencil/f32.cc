// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stencil/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/stencil/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(StencilsOfTarget);

const StencilKernels& Stencils() { return HWY_DYNAMIC_DISPATCH(StencilsOfTarget)(); }

}  // namespace canopy::kernels
#endif
