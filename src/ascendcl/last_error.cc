// SPDX-License-Identifier: Apache-2.0
#include "acl/acl_rt.h"
#include "ascendcl/error_message.h"
#include "ascendcl/thread_state.h"

namespace canopy::ascendcl {
namespace {

thread_local constinit ThreadState thread_state;

// The two functions below report on failures: their own refusal leaves the last error as it is.
bool IsThreadLevel(aclrtLastErrLevel level) {
  if (level == ACL_RT_THREAD_LEVEL) return true;
  PushError(ErrorClass::kRuntimeValue, "last error: level must be ACL_RT_THREAD_LEVEL (0).");
  return false;
}

}  // namespace

ThreadState& CurrentThread() noexcept { return thread_state; }

}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  if (!ascendcl::IsThreadLevel(level)) return ACL_ERROR_INVALID_PARAM;
  return ascendcl::CurrentThread().last_error;
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  if (!ascendcl::IsThreadLevel(level)) return ACL_ERROR_INVALID_PARAM;
  const aclError code = ascendcl::CurrentThread().last_error;
  ascendcl::CurrentThread().last_error = ACL_SUCCESS;
  return code;
}
