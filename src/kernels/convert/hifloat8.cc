// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert/hifloat8.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/convert/body-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels::convert {
namespace HWY_NAMESPACE {

LoadRowFn ChooseHiFloat8Load(InputRounding rounding, bool saturate) {
  return ChooseLoadRow<DType::kHiFloat8>(rounding, saturate);
}

StoreRowFn ChooseHiFloat8Store(bool saturate) { return ChooseStoreRow<DType::kHiFloat8>(saturate); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels::convert
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace canopy::kernels::convert {

HWY_EXPORT(ChooseHiFloat8Load);
HWY_EXPORT(ChooseHiFloat8Store);

LoadRowFn SelectHiFloat8Load(numerics::InputRounding rounding, bool saturate) {
  return HWY_DYNAMIC_DISPATCH(ChooseHiFloat8Load)(rounding, saturate);
}

StoreRowFn SelectHiFloat8Store(bool saturate) { return HWY_DYNAMIC_DISPATCH(ChooseHiFloat8Store)(saturate); }

}  // namespace canopy::kernels::convert
#endif
