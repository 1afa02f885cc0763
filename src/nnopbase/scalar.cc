// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "aclnn/acl_meta.h"
#include "nnopbase/refuse.h"
#include "nnopbase/tables.h"
#include "opdev/op_errno.h"

namespace canopy::nnopbase {
namespace {

// What a caller's value of this type surely occupies. aclDataTypeSize answers 8 for the types below a byte.
size_t ValueBytes(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT6_E3M2:
    case ACL_FLOAT6_E2M3:
    case ACL_FLOAT4_E2M1:
    case ACL_FLOAT4_E1M2:
      return 1;
    default:
      return std::min(aclDataTypeSize(dtype), sizeof(Scalar::value));
  }
}

}  // namespace
}  // namespace canopy::nnopbase

namespace nnopbase = canopy::nnopbase;

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  if (value == nullptr) {
    nnopbase::RefuseNull("aclCreateScalar", "value", ACLNN_ERR_PARAM_NULLPTR);
    return nullptr;
  }
  nnopbase::Scalar scalar;
  scalar.dtype = dataType;
  std::memcpy(scalar.value.data(), value, nnopbase::ValueBytes(dataType));
  aclScalar* handle = nnopbase::scalars.Insert(std::move(scalar));
  if (handle == nullptr) nnopbase::Refuse(ACLNN_ERR_INNER_NULLPTR, "aclCreateScalar: no memory for a handle.");
  return handle;
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  nnopbase::Scalar object;
  if (scalar == nullptr || nnopbase::scalars.Take(scalar, &object)) return ACLNN_SUCCESS;
  return nnopbase::RefuseHandle("aclDestroyScalar", "scalar", scalar, nnopbase::scalars.kind, ACLNN_ERR_PARAM_INVALID);
}
