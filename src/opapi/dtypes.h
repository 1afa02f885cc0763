// SPDX-License-Identifier: Apache-2.0
// Data types between the C surface and the engine, and their promotion.
#ifndef CANOPY_OPAPI_DTYPES_H_
#define CANOPY_OPAPI_DTYPES_H_

#include "acl/acl_base.h"
#include "numerics/dtype.h"
#include "opapi/names.h"

namespace canopy::opapi {

inline constexpr DTypeSet kFloats16And32{ACL_FLOAT, ACL_FLOAT16};
inline constexpr DTypeSet kFloatsAndBf16{ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
inline constexpr DTypeSet kFloatsAndHif8{ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_HIFLOAT8};
inline constexpr DTypeSet kFloatsAndFp8{ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN};
inline constexpr DTypeSet k8Bit{ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN};

// What inputs of two types are computed in: their own type where they agree, else FLOAT.
constexpr aclDataType Promote(aclDataType a, aclDataType b) { return a == b ? a : ACL_FLOAT; }

// REQUIRES: `dtype` is one of kFloatsAndFp8.
constexpr numerics::DType ToDType(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT16:
      return numerics::DType::kFloat16;
    case ACL_BF16:
      return numerics::DType::kBFloat16;
    case ACL_HIFLOAT8:
      return numerics::DType::kHiFloat8;
    case ACL_FLOAT8_E4M3FN:
      return numerics::DType::kFloat8E4M3;
    default:
      return numerics::DType::kFloat32;
  }
}

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_DTYPES_H_
