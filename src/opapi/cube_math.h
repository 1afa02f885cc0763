// SPDX-License-Identifier: Apache-2.0
// cubeMathType: which product rounds which inputs to what before they are multiplied.
#ifndef CANOPY_OPAPI_CUBE_MATH_H_
#define CANOPY_OPAPI_CUBE_MATH_H_

#include "acl/acl_base.h"
#include "base/status.h"
#include "numerics/dtype.h"
#include "product/product.h"

namespace canopy::opapi {

inline constexpr int kUseFp16 = 2;
inline constexpr int kUseHf32 = 3;
inline constexpr int kUseFp32Add = 4;  // forward operators only

// cubeMathType lies in 0..high, and the product computes inputs of `promoted` type with it.
base::Status RequireCubeMathType(int cube_math_type, int high, aclDataType promoted, const product::Product& product);

// REQUIRES: RequireCubeMathType accepted.
numerics::InputRounding RoundingOf(int cube_math_type, aclDataType promoted, const product::Product& product);

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_CUBE_MATH_H_
