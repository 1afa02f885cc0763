// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/few_tiles/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/few_tiles/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(FewTilesOfTarget);

const FewTilesKernels* FewTiles() { return HWY_DYNAMIC_DISPATCH(FewTilesOfTarget)(); }

}  // namespace canopy::kernels
#endif
