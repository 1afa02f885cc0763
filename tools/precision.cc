// SPDX-License-Identifier: Apache-2.0
#include "tools/precision.h"

#include "product/product.h"
#include "tools/case_list.h"

namespace canopy::tools {
namespace {

// The type that the multiplicands' types promote to is FLOAT.
bool ComputesInFloat(const Case& a_case) {
  aclDataType promoted = a_case.tensor(CallTensor::kInput).dtype;
  for (const CallTensor tensor : {CallTensor::kWeight, CallTensor::kGradOutput}) {
    const TensorSpec& spec = a_case.tensor(tensor);
    if (spec.present && spec.dtype != promoted) promoted = ACL_FLOAT;
  }
  return promoted == ACL_FLOAT;
}

}  // namespace

Precision PrecisionOf(const Case& a_case, std::string_view soc) {
  using numerics::InputRounding;
  const product::Product* product = product::FindProduct(soc);
  if (product == nullptr) throw BadInput("product was \"" + std::string(soc) + "\", which is not known");
  const int hf32_bits = product->hf32_mantissa_bits;  // 0: computes FLOAT as FLOAT16 where it may
  Precision precision;
  precision.saturate = !product->inf_nan_mode;
  if (!ComputesInFloat(a_case)) return precision;
  const int math = a_case.attributes.cube_math_type;
  if (math == 2 || (math == 1 && hf32_bits == 0)) {
    precision.rounding = InputRounding::kFloat16;
  } else if (math == 1 || math == 3) {
    precision.rounding = hf32_bits == 10 ? InputRounding::kHfloat32x10 : InputRounding::kHfloat32x11;
  }
  return precision;
}

}  // namespace canopy::tools
