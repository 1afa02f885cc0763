// SPDX-License-Identifier: Apache-2.0
#include "nnopbase/tables.h"

namespace canopy::nnopbase {

constinit HandleTable<aclTensor, Tensor, HandleKind::kTensor> tensors;
constinit HandleTable<aclScalar, Scalar, HandleKind::kScalar> scalars;
constinit HandleTable<aclIntArray, Array<int64_t>, HandleKind::kIntArray> int_arrays;
constinit HandleTable<aclFloatArray, Array<float>, HandleKind::kFloatArray> float_arrays;
constinit HandleTable<aclBoolArray, Array<bool>, HandleKind::kBoolArray> bool_arrays;
constinit HandleTable<aclTensorList, Array<const aclTensor*>, HandleKind::kTensorList> tensor_lists;
constinit HandleTable<aclScalarList, Array<const aclScalar*>, HandleKind::kScalarList> scalar_lists;
constinit HandleTable<aclOpExecutor, Executor*, HandleKind::kExecutor> executors;

}  // namespace canopy::nnopbase
