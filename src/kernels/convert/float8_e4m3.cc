// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert/float8_e4m3.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/convert/body-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels::convert {
namespace HWY_NAMESPACE {

LoadRowFn ChooseFloat8E4M3Load(InputRounding rounding, bool saturate) {
  return ChooseLoadRow<DType::kFloat8E4M3>(rounding, saturate);
}

StoreRowFn ChooseFloat8E4M3Store(bool saturate) { return ChooseStoreRow<DType::kFloat8E4M3>(saturate); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels::convert
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace canopy::kernels::convert {

HWY_EXPORT(ChooseFloat8E4M3Load);
HWY_EXPORT(ChooseFloat8E4M3Store);

LoadRowFn SelectFloat8E4M3Load(numerics::InputRounding rounding, bool saturate) {
  return HWY_DYNAMIC_DISPATCH(ChooseFloat8E4M3Load)(rounding, saturate);
}

StoreRowFn SelectFloat8E4M3Store(bool saturate) { return HWY_DYNAMIC_DISPATCH(ChooseFloat8E4M3Store)(saturate); }

}  // namespace canopy::kernels::convert
#endif
