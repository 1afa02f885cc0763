// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lines/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/lines/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(LinesOfTarget);

const LineKernels& Lines() { return HWY_DYNAMIC_DISPATCH(LinesOfTarget)(); }

}  // namespace canopy::kernels
#endif
