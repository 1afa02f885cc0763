// SPDX-License-Identifier: Apache-2.0
#include "tools/precision.h"

namespace canopy::tools {
namespace {

// Atlas training and inference products: no HFLOAT32, no infinities in FLOAT16. Of the names that start with
// Ascend910, A2's have a digit behind the B and A3's an underscore.
bool IsFirstGeneration(std::string_view soc) {
  if (soc.starts_with("Ascend310")) return true;
  if (!soc.starts_with("Ascend910")) return false;
  const std::string_view rest = soc.substr(9);
  return !rest.starts_with("_") && (!rest.starts_with("B") || rest == "B");
}

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
  const bool first_generation = IsFirstGeneration(soc) && !soc.starts_with("Ascend310B");
  Precision precision;
  precision.saturate = IsFirstGeneration(soc);
  if (!ComputesInFloat(a_case)) return precision;
  const int math = a_case.attributes.cube_math_type;
  if (math == 2 || (math == 1 && first_generation)) {
    precision.rounding = InputRounding::kFloat16;
  } else if (math == 1 || math == 3) {
    const bool ten_bits = soc.starts_with("Ascend950") || soc.starts_with("Ascend910_95");
    precision.rounding = ten_bits ? InputRounding::kHfloat32x10 : InputRounding::kHfloat32x11;
  }
  return precision;
}

}  // namespace canopy::tools
