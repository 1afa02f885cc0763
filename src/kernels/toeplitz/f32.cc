// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/toeplitz/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/toeplitz/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(ToeplitzOfTarget);

const ToeplitzKernels& Toeplitz() { return HWY_DYNAMIC_DISPATCH(ToeplitzOfTarget)(); }

}  // namespace canopy::kernels
#endif
