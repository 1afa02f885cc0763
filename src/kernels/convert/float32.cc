// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert/float32.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/convert/body-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels::convert {
namespace HWY_NAMESPACE {

LoadRowFn ChooseFloat32Load(InputRounding rounding, bool saturate) {
  return ChooseLoadRow<DType::kFloat32>(rounding, saturate);
}

StoreRowFn ChooseFloat32Store(bool saturate) { return ChooseStoreRow<DType::kFloat32>(saturate); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels::convert
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace canopy::kernels::convert {

HWY_EXPORT(ChooseFloat32Load);
HWY_EXPORT(ChooseFloat32Store);

LoadRowFn SelectFloat32Load(numerics::InputRounding rounding, bool saturate) {
  return HWY_DYNAMIC_DISPATCH(ChooseFloat32Load)(rounding, saturate);
}

StoreRowFn SelectFloat32Store(bool saturate) { return HWY_DYNAMIC_DISPATCH(ChooseFloat32Store)(saturate); }

}  // namespace canopy::kernels::convert
#endif
