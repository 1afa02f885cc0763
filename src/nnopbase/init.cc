// SPDX-License-Identifier: Apache-2.0
// Entry points that have nothing to do here: there is no library to load, no kernel package to choose from, no
// workspace pool and no dump service.
#include "aclnn/aclnn_base.h"
#include "nnopbase/refuse.h"
#include "nnopbase/tables.h"
#include "opdev/op_errno.h"

namespace nnopbase = canopy::nnopbase;

aclnnStatus aclnnInit(const char*) { return ACLNN_SUCCESS; }

aclnnStatus aclnnFinalize(void) { return ACLNN_SUCCESS; }

aclnnStatus aclDumpOpTensors(const char* opType, const char* opName, aclTensor** tensors, size_t, size_t, aclrtStream) {
  const char* missing = nullptr;
  if (opType == nullptr) missing = "opType";
  if (opName == nullptr) missing = "opName";
  if (tensors == nullptr) missing = "tensors";
  if (missing != nullptr) return nnopbase::RefuseNull("aclDumpOpTensors", missing, ACLNN_ERR_PARAM_NULLPTR);
  return ACLNN_SUCCESS;
}

// No header declares these; clients look them up by name.
extern "C" {

ACL_FUNC_VISIBILITY aclnnStatus aclnnReselectStaticKernel() { return ACLNN_SUCCESS; }
ACL_FUNC_VISIBILITY aclnnStatus aclnnReselectStaticKernelWithPath(const char*) { return ACLNN_SUCCESS; }
ACL_FUNC_VISIBILITY int InitHugeMemThreadLocal(void*, bool) { return 0; }
ACL_FUNC_VISIBILITY void UnInitHugeMemThreadLocal(void*, bool) {}
ACL_FUNC_VISIBILITY void ReleaseHugeMem(void*, bool) {}

}  // extern "C"
