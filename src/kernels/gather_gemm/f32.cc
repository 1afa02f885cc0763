// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gather_gemm/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/gather_gemm/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(GatherTilesOfTarget);

GatherTilesList AllGatherTiles() { return HWY_DYNAMIC_DISPATCH(GatherTilesOfTarget)(); }

}  // namespace canopy::kernels
#endif
