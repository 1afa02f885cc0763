// SPDX-License-Identifier: Apache-2.0
#include "nnopbase/refuse.h"

#include <cstdarg>
#include <cstdio>

#include "ascendcl/error_message.h"
#include "opdev/op_errno.h"

namespace canopy::nnopbase {

aclnnStatus RefuseInWords(aclnnStatus code, std::string_view text) noexcept {
  const bool callers_fault = code == ACLNN_ERR_PARAM_NULLPTR || code == ACLNN_ERR_PARAM_INVALID;
  ascendcl::PushError(callers_fault ? ascendcl::ErrorClass::kAclnnParameter : ascendcl::ErrorClass::kAclnnInner, text);
  return code;
}

aclnnStatus Refuse(aclnnStatus code, const char* format, ...) noexcept {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return RefuseInWords(code, text);
}

aclnnStatus RefuseNull(const char* function, const char* argument, aclnnStatus code) noexcept {
  return Refuse(code, "%s: argument %s is NULL; it must not be.", function, argument);
}

aclnnStatus RefuseHandle(const char* function, const char* argument, const void* handle, HandleKind expected,
                         aclnnStatus code) noexcept {
  return Refuse(code, "%s: argument %s (%p) is %s; expected a living %s.", function, argument, handle,
                DescribeUnusable(handle, expected), KindName(expected));
}

}  // namespace canopy::nnopbase
