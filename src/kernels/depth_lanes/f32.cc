// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depth_lanes/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/depth_lanes/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(DepthLanesOfTarget);

const DepthKernels& DepthLanes() { return HWY_DYNAMIC_DISPATCH(DepthLanesOfTarget)(); }

}  // namespace canopy::kernels
#endif
