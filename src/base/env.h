// SPDX-License-Identifier: Apache-2.0
// Environment variables, read once at the first use of whatever they steer. None is required.
#ifndef CANOPY_BASE_ENV_H_
#define CANOPY_BASE_ENV_H_

#include <cstdint>
#include <string>

#include "base/export.h"

namespace canopy::base {

// The variable's text, or `fallback` where it is unset or empty.
CANOPY_EXPORT std::string EnvText(const char* name, const char* fallback);

// The variable as a whole number in [low, high]. Anything else is a warning in the log and `fallback`.
CANOPY_EXPORT int64_t EnvInt(const char* name, int64_t low, int64_t high, int64_t fallback);

}  // namespace canopy::base

#endif  // CANOPY_BASE_ENV_H_
