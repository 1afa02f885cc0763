// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/joint_planes/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/joint_planes/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(JointPlanesOfTarget);

const JointKernels& JointPlanes() { return HWY_DYNAMIC_DISPATCH(JointPlanesOfTarget)(); }

}  // namespace canopy::kernels
#endif
