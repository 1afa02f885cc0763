// SPDX-License-Identifier: Apache-2.0
#include "kernels/convert/contract.h"

namespace canopy::kernels::convert {

#define CANOPY_CONVERT_KERNEL(name)                                              \
  LoadRowFn Select##name##Load(numerics::InputRounding rounding, bool saturate); \
  StoreRowFn Select##name##Store(bool saturate);
#include "kernels/convert/kernels.inc"
#undef CANOPY_CONVERT_KERNEL

LoadRowFn SelectLoadRow(numerics::DType dtype, const numerics::NumericRule& rule) {
  switch (dtype) {
#define CANOPY_CONVERT_KERNEL(name) \
  case numerics::DType::k##name:    \
    return Select##name##Load(rule.input_rounding, rule.saturate);
#include "kernels/convert/kernels.inc"
#undef CANOPY_CONVERT_KERNEL
  }
  return nullptr;
}

StoreRowFn SelectStoreRow(numerics::DType dtype, bool saturate) {
  switch (dtype) {
#define CANOPY_CONVERT_KERNEL(name) \
  case numerics::DType::k##name:    \
    return Select##name##Store(saturate);
#include "kernels/convert/kernels.inc"
#undef CANOPY_CONVERT_KERNEL
  }
  return nullptr;
}

}  // namespace canopy::kernels::convert
