// SPDX-License-Identifier: Apache-2.0
// How much memory this process may have: what the computer and every control group above the process allow.
#ifndef CANOPY_BASE_SYSTEM_MEMORY_H_
#define CANOPY_BASE_SYSTEM_MEMORY_H_

#include <cstdint>

#include "base/export.h"

namespace canopy::base {

struct SystemMemory {
  uint64_t total_bytes = 0;
  uint64_t available_bytes = 0;  // can be had now without swapping
  uint64_t resident_bytes = 0;   // of this process
};

// Reads a handful of files of /proc and /sys: tens of microseconds.
CANOPY_EXPORT SystemMemory ReadSystemMemory();

}  // namespace canopy::base

#endif  // CANOPY_BASE_SYSTEM_MEMORY_H_
