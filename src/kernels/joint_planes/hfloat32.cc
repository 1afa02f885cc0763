// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/joint_planes/hfloat32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/joint_planes/body-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {

const JointKernels& JointHfloat32x11OfTarget() { return JointPlanesOfTarget<Form::kHfloat32x11>(); }

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(JointHfloat32x11OfTarget);

const JointKernels& JointPlanesHfloat32x11() { return HWY_DYNAMIC_DISPATCH(JointHfloat32x11OfTarget)(); }

}  // namespace canopy::kernels
#endif
