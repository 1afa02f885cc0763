// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/boundary.h"

#include <cstdarg>
#include <cstdio>

#include "ascendcl/error_message.h"
#include "ascendcl/thread_state.h"

namespace canopy::ascendcl {
namespace {

constexpr size_t kMaxMessage = 2048;  // the longest lists every chip

ErrorClass ClassOf(int code) {
  if (code == ACL_ERROR_RT_INVALID_HANDLE) return ErrorClass::kRuntimeHandle;
  const bool callers_fault = code / 1000 == 100 || code / 1000 == 107;
  return callers_fault ? ErrorClass::kRuntimeValue : ErrorClass::kRuntimeOther;
}

}  // namespace

aclError Report(const char* function, int code, const char* message) noexcept {
  char text[kMaxMessage];
  std::snprintf(text, sizeof(text), "%s: %s.", function, message);
  PushError(ClassOf(code), text);
  CurrentThread().last_error = code;
  return code;
}

base::Status Refuse(int code, const char* format, ...) {
  char text[kMaxMessage];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return base::Status(code, text);
}

}  // namespace canopy::ascendcl
