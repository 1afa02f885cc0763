// SPDX-License-Identifier: Apache-2.0
#include "base/env.h"

#include <cerrno>
#include <cstdlib>

#include "base/log.h"

namespace canopy::base {

std::string EnvText(const char* name, const char* fallback) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? text : fallback;
}

int64_t EnvInt(const char* name, int64_t low, int64_t high, int64_t fallback) {
  const std::string text = EnvText(name, "");
  if (text.empty()) return fallback;
  errno = 0;
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (errno != 0 || *end != '\0' || value < low || value > high) {
    Log(LogLevel::kWarning, "%s is \"%s\"; allowed are whole numbers from %lld to %lld; using %lld", name, text.c_str(),
        static_cast<long long>(low), static_cast<long long>(high), static_cast<long long>(fallback));
    return fallback;
  }
  return value;
}

}  // namespace canopy::base
