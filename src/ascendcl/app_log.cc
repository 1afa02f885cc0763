// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "acl/acl_base.h"
#include "base/log.h"

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line, const char* fmt, ...) {
  namespace base = canopy::base;
  if (fmt == nullptr) return;
  const auto level = static_cast<base::LogLevel>(std::clamp<int>(logLevel, ACL_DEBUG, ACL_ERROR));
  if (!base::LogEnabled(level)) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, fmt);
  std::vsnprintf(text, sizeof(text), fmt, arguments);
  va_end(arguments);
  base::Log(level, "%s:%u %s: %s", file != nullptr ? file : "", line, func != nullptr ? func : "", text);
}
