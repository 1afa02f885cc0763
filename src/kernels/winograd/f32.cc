// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd/f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/winograd/body-inl.h"

#if HWY_ONCE
namespace canopy::kernels {

HWY_EXPORT(WinogradOfTarget);
HWY_EXPORT(WinogradProductOfTarget);

const WinogradKernels& Winograd(int axes) { return HWY_DYNAMIC_DISPATCH(WinogradOfTarget)(axes); }

WinogradProductFn WinogradProduct() { return HWY_DYNAMIC_DISPATCH(WinogradProductOfTarget)(); }

}  // namespace canopy::kernels
#endif
