// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert/float16.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/convert/body-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels::convert {
namespace HWY_NAMESPACE {

LoadRowFn ChooseFloat16Load(InputRounding rounding, bool saturate) {
  return ChooseLoadRow<DType::kFloat16>(rounding, saturate);
}

StoreRowFn ChooseFloat16Store(bool saturate) { return ChooseStoreRow<DType::kFloat16>(saturate); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels::convert
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace canopy::kernels::convert {

HWY_EXPORT(ChooseFloat16Load);
HWY_EXPORT(ChooseFloat16Store);

LoadRowFn SelectFloat16Load(numerics::InputRounding rounding, bool saturate) {
  return HWY_DYNAMIC_DISPATCH(ChooseFloat16Load)(rounding, saturate);
}

StoreRowFn SelectFloat16Store(bool saturate) { return HWY_DYNAMIC_DISPATCH(ChooseFloat16Store)(saturate); }

}  // namespace canopy::kernels::convert
#endif
