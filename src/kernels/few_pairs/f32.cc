// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/few_pairs/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/few_pairs/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(FewPairsOfTarget);

const FewPairsKernels& FewPairs() { return *HWY_DYNAMIC_DISPATCH(FewPairsOfTarget)(); }

}  // namespace canopy::kernels
#endif
