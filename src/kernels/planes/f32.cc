// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/planes/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/planes/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(PlanesOfTarget);

const PlaneKernels& Planes() { return HWY_DYNAMIC_DISPATCH(PlanesOfTarget)(); }

}  // namespace canopy::kernels
#endif
