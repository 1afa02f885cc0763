// SPDX-License-Identifier: Apache-2.0
#include "kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert/bfloat16.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/convert/body-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels::convert {
namespace HWY_NAMESPACE {

LoadRowFn ChooseBFloat16Load(InputRounding rounding, bool saturate) {
  return ChooseLoadRow<DType::kBFloat16>(rounding, saturate);
}

StoreRowFn ChooseBFloat16Store(bool saturate) { return ChooseStoreRow<DType::kBFloat16>(saturate); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels::convert
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace canopy::kernels::convert {

HWY_EXPORT(ChooseBFloat16Load);
HWY_EXPORT(ChooseBFloat16Store);

LoadRowFn SelectBFloat16Load(numerics::InputRounding rounding, bool saturate) {
  return HWY_DYNAMIC_DISPATCH(ChooseBFloat16Load)(rounding, saturate);
}

StoreRowFn SelectBFloat16Store(bool saturate) { return HWY_DYNAMIC_DISPATCH(ChooseBFloat16Store)(saturate); }

}  // namespace canopy::kernels::convert
#endif
