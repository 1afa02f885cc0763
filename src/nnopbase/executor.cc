// SPDX-License-Identifier: Apache-2.0
#include "nnopbase/executor.h"

#include <cstring>
#include <new>

#include "nnopbase/executor_object.h"
#include "nnopbase/refuse.h"
#include "nnopbase/tables.h"
#include "opdev/op_errno.h"

namespace canopy::nnopbase {
namespace {

// False: some tensor was destroyed since the operator read it.
bool ReadAddresses(const ExecutorSpec& spec, TensorAddresses* addresses) {
  for (int i = 0; i < kMaxTensors; ++i) {
    (*addresses)[i] = nullptr;
    if (spec.tensors[i] == nullptr) continue;
    if (!tensors.Visit(spec.tensors[i], [addresses, i](const Tensor& t) { (*addresses)[i] = t.data; })) return false;
  }
  return true;
}

aclnnStatus RefuseExecutor(const char* function, const aclOpExecutor* executor) {
  return RefuseHandle(function, "executor", executor, HandleKind::kExecutor, ACLNN_ERR_INNER);
}

// Ends the handle's life. False: another thread was faster.
bool Consume(aclOpExecutor* handle) {
  Executor* executor = nullptr;
  if (!executors.Take(handle, &executor)) return false;
  executor->LetGo();
  return true;
}

aclnnStatus CheckOperator(const Executor& executor, const char* name, const aclOpExecutor* handle) {
  if (std::strcmp(executor.name(), name) == 0) return ACLNN_SUCCESS;
  return Refuse(ACLNN_ERR_INNER,
                "%s: argument executor (%p) was made by %sGetWorkspaceSize; expected one that %sGetWorkspaceSize made.",
                name, static_cast<const void*>(handle), executor.name(), name);
}

aclnnStatus CheckWorkspace(const Executor& executor, const void* workspace, uint64_t workspace_bytes) {
  if (workspace_bytes > 0 && workspace == nullptr) {
    return Refuse(ACLNN_ERR_PARAM_NULLPTR,
                  "%s: argument workspace is NULL while workspaceSize is %llu; expected %llu "
                  "bytes of memory, or workspaceSize 0 where phase 1 asked for none.",
                  executor.name(), static_cast<unsigned long long>(workspace_bytes),
                  static_cast<unsigned long long>(executor.workspace_bytes()));
  }
  if (workspace_bytes < executor.workspace_bytes()) {
    return Refuse(ACLNN_ERR_PARAM_INVALID, "%s: argument workspaceSize is %llu; phase 1 asked for %llu.",
                  executor.name(), static_cast<unsigned long long>(workspace_bytes),
                  static_cast<unsigned long long>(executor.workspace_bytes()));
  }
  return ACLNN_SUCCESS;
}

}  // namespace

aclnnStatus CreateExecutor(const ExecutorSpec& spec, aclOpExecutor** executor) noexcept {
  TensorAddresses addresses;
  if (!ReadAddresses(spec, &addresses)) {
    return Refuse(ACLNN_ERR_PARAM_INVALID, "%s: a tensor was destroyed while phase 1 was reading it.", spec.name);
  }
  auto* object = new (std::nothrow) Executor(spec, addresses);
  aclOpExecutor* handle = object != nullptr ? executors.Insert(std::move(object)) : nullptr;
  if (handle == nullptr) {
    if (object != nullptr) object->LetGo();
    return Refuse(ACLNN_ERR_INNER_CREATE_EXECUTOR, "%s: no memory for an executor.", spec.name);
  }
  *executor = handle;
  return ACLNN_SUCCESS;
}

aclnnStatus RunExecutor(const char* name, void* workspace, uint64_t workspace_bytes, aclOpExecutor* executor,
                        aclrtStream stream) noexcept {
  if (executor == nullptr) return RefuseNull(name, "executor", ACLNN_ERR_PARAM_NULLPTR);
  Executor* object = nullptr;
  bool repeatable = false;
  if (!executors.Visit(executor, [&](Executor* living) {
        living->Hold();
        object = living;
        repeatable = living->repeatable;
      })) {
    return RefuseExecutor(name, executor);
  }
  bool ends = !repeatable;
  aclnnStatus status = CheckOperator(*object, name, executor);
  if (status == ACLNN_SUCCESS) {
    status = CheckWorkspace(*object, workspace, workspace_bytes);
    ends = ends || status != ACLNN_SUCCESS;  // a bad workspace ends a repeatable executor, too
  }
  if (ends && !Consume(executor)) {
    status = RefuseExecutor(name, executor);
  } else if (status == ACLNN_SUCCESS) {
    status = object->Enqueue(workspace, stream);
  }
  object->LetGo();
  return status;
}

}  // namespace canopy::nnopbase

namespace nnopbase = canopy::nnopbase;

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  constexpr const char* kFunction = "aclSetAclOpExecutorRepeatable";
  if (executor == nullptr) return nnopbase::RefuseNull(kFunction, "executor", ACLNN_ERR_INNER_NULLPTR);
  if (nnopbase::executors.Visit(executor, [](nnopbase::Executor* living) { living->repeatable = true; })) {
    return ACLNN_SUCCESS;
  }
  return nnopbase::RefuseExecutor(kFunction, executor);
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  constexpr const char* kFunction = "aclDestroyAclOpExecutor";
  if (executor == nullptr) return nnopbase::RefuseNull(kFunction, "executor", ACLNN_ERR_INNER_NULLPTR);
  return nnopbase::Consume(executor) ? ACLNN_SUCCESS : nnopbase::RefuseExecutor(kFunction, executor);
}
