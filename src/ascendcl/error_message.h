// SPDX-License-Identifier: Apache-2.0
// The text behind aclGetRecentErrMsg: kept per thread (or per process, by err_msg_mode), newest first.
#ifndef CANOPY_ASCENDCL_ERROR_MESSAGE_H_
#define CANOPY_ASCENDCL_ERROR_MESSAGE_H_

#include <string_view>

#include "base/export.h"

namespace canopy::ascendcl {

// CANN's classes of message and their EZ/EE codes.
enum class ErrorClass {
  kAclnnParameter,  // AclNN_Parameter_Error(EZ1001)
  kAclnnInner,      // AclNN_Inner_Error(EZ9999)
  kRuntimeValue,    // Invalid_Argument(EE1003)
  kRuntimeHandle,   // Invalid_Handle(EE1017)
  kRuntimeOther,    // Runtime_Error(EE9999)
};

// Files "[PID:n] <time> <class>: <text>" and logs it at error level. Never fails; drops the text when out of memory.
CANOPY_EXPORT void PushError(ErrorClass error_class, std::string_view text) noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_ERROR_MESSAGE_H_
