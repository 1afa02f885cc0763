// SPDX-License-Identifier: Apache-2.0
// Address replacement: the new address is stored in the tensor, where a repeatable executor finds it at its next run.
// Upstream's six names tell inputs from outputs and lists from single tensors; here they differ in nothing else.
#include <cstddef>

#include "aclnn/acl_meta.h"
#include "nnopbase/refuse.h"
#include "nnopbase/tables.h"
#include "opdev/op_errno.h"

namespace canopy::nnopbase {
namespace {

// Upstream stores the address before it looks at the executor.
aclnnStatus SetAddress(const char* function, const aclOpExecutor* executor, const aclTensor* tensor, void* addr) {
  if (tensor == nullptr) return RefuseNull(function, "tensor", ACLNN_ERR_INNER_NULLPTR);
  if (!tensors.Visit(tensor, [addr](Tensor& t) { t.data = addr; })) {
    return RefuseHandle(function, "tensor", tensor, HandleKind::kTensor, ACLNN_ERR_PARAM_INVALID);
  }
  if (executor == nullptr) return RefuseNull(function, "executor", ACLNN_ERR_INNER_NULLPTR);
  if (executors.Contains(executor)) return ACLNN_SUCCESS;
  return RefuseHandle(function, "executor", executor, HandleKind::kExecutor, ACLNN_ERR_INNER);
}

aclnnStatus SetMemberAddress(const char* function, const aclOpExecutor* executor, size_t index,
                             const aclTensorList* list, void* addr) {
  if (list == nullptr) return RefuseNull(function, "tensors", ACLNN_ERR_INNER_NULLPTR);
  uint64_t size = 0;
  const aclTensor* member = nullptr;
  if (!tensor_lists.Visit(list, [&](const Array<const aclTensor*>& members) {
        size = members.size();
        if (index < size) member = members[index];
      })) {
    return RefuseHandle(function, "tensors", list, HandleKind::kTensorList, ACLNN_ERR_PARAM_INVALID);
  }
  if (index >= size) {
    return Refuse(ACLNN_ERR_PARAM_INVALID, "%s: argument relativeIndex is %zu; the list has %llu tensors.", function,
                  index, static_cast<unsigned long long>(size));
  }
  return SetAddress(function, executor, member, addr);
}

}  // namespace
}  // namespace canopy::nnopbase

using canopy::nnopbase::SetAddress;
using canopy::nnopbase::SetMemberAddress;

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t, aclTensor* tensor, void* addr) {
  return SetAddress("aclSetInputTensorAddr", executor, tensor, addr);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t, aclTensor* tensor, void* addr) {
  return SetAddress("aclSetOutputTensorAddr", executor, tensor, addr);
}

aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t, aclTensor* tensor, void* addr) {
  return SetAddress("aclSetTensorAddr", executor, tensor, addr);
}

aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t, const size_t relativeIndex,
                                         aclTensorList* tensors, void* addr) {
  return SetMemberAddress("aclSetDynamicInputTensorAddr", executor, relativeIndex, tensors, addr);
}

aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t, const size_t relativeIndex,
                                          aclTensorList* tensors, void* addr) {
  return SetMemberAddress("aclSetDynamicOutputTensorAddr", executor, relativeIndex, tensors, addr);
}

aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t, const size_t relativeIndex, aclTensorList* tensors,
                                    void* addr) {
  return SetMemberAddress("aclSetDynamicTensorAddr", executor, relativeIndex, tensors, addr);
}

aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return aclSetInputTensorAddr(executor, index, tensor, addr);
}

aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return aclSetOutputTensorAddr(executor, index, tensor, addr);
}

aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return aclSetTensorAddr(executor, index, tensor, addr);
}

aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                         aclTensorList* tensors, void* addr) {
  return aclSetDynamicInputTensorAddr(executor, irIndex, relativeIndex, tensors, addr);
}

aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                          aclTensorList* tensors, void* addr) {
  return aclSetDynamicOutputTensorAddr(executor, irIndex, relativeIndex, tensors, addr);
}

aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                    aclTensorList* tensors, void* addr) {
  return aclSetDynamicTensorAddr(executor, irIndex, relativeIndex, tensors, addr);
}
