// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/joint_planes/float16.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/joint_planes/body-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {

const JointKernels& JointFloat16OfTarget() { return JointPlanesOfTarget<Form::kFloat16>(); }

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(JointFloat16OfTarget);

const JointKernels& JointPlanesFloat16() { return HWY_DYNAMIC_DISPATCH(JointFloat16OfTarget)(); }

}  // namespace canopy::kernels
#endif
