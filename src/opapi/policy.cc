// SPDX-License-Identifier: Apache-2.0
#include "opapi/policy.h"

#include <string>

#include "base/env.h"

namespace canopy::opapi {
namespace {

bool Asks(const char* variable, const char* value) {
  const std::string text = base::EnvText(variable, "");
  if (text == value) return true;
  if (!text.empty()) {
    base::Log(base::LogLevel::kWarning, "%s: was \"%s\"; allowed is \"%s\", or unset", variable, text.c_str(), value);
  }
  return false;
}

}  // namespace

const Policy& CurrentPolicy() {
  static const Policy policy{.documented_limits = Asks("CANOPY_LIMITS", "documented")};
  return policy;
}

bool OnlyDeviceMemory() {
  static const bool only_device = Asks("CANOPY_CHECK", "device");
  return only_device;
}

}  // namespace canopy::opapi
