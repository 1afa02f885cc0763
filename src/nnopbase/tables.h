// SPDX-License-Identifier: Apache-2.0
// The objects behind each kind of handle, and their tables.
#ifndef CANOPY_NNOPBASE_TABLES_H_
#define CANOPY_NNOPBASE_TABLES_H_

#include <array>
#include <cstdint>

#include "aclnn/acl_meta.h"
#include "nnopbase/handle_table.h"
#include "nnopbase/inline_array.h"
#include "nnopbase/tensor_view.h"

namespace canopy::nnopbase {

class Executor;

using Dims = InlineArray<int64_t, kMaxRank>;

struct Tensor {
  Dims view_dims;
  Dims strides;
  Dims storage_dims;
  int64_t offset = 0;
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  void* data = nullptr;
};

struct Scalar {
  aclDataType dtype = ACL_DT_UNDEFINED;
  std::array<unsigned char, 16> value{};  // the widest type is ACL_COMPLEX128
};

template <typename T>
using Array = InlineArray<T, kMaxArray>;

extern constinit HandleTable<aclTensor, Tensor, HandleKind::kTensor> tensors;
extern constinit HandleTable<aclScalar, Scalar, HandleKind::kScalar> scalars;
extern constinit HandleTable<aclIntArray, Array<int64_t>, HandleKind::kIntArray> int_arrays;
extern constinit HandleTable<aclFloatArray, Array<float>, HandleKind::kFloatArray> float_arrays;
extern constinit HandleTable<aclBoolArray, Array<bool>, HandleKind::kBoolArray> bool_arrays;
extern constinit HandleTable<aclTensorList, Array<const aclTensor*>, HandleKind::kTensorList> tensor_lists;
extern constinit HandleTable<aclScalarList, Array<const aclScalar*>, HandleKind::kScalarList> scalar_lists;
extern constinit HandleTable<aclOpExecutor, Executor*, HandleKind::kExecutor> executors;

}  // namespace canopy::nnopbase

#endif  // CANOPY_NNOPBASE_TABLES_H_
