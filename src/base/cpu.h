// SPDX-License-Identifier: Apache-2.0
// What this processor is: the facts a plan may depend on. Read once.
#ifndef CANOPY_BASE_CPU_H_
#define CANOPY_BASE_CPU_H_

#include <cstdint>
#include <string>

#include "base/export.h"

namespace canopy::base {

struct CpuFacts {
  std::string model;   // as the kernel names it, for humans
  std::string vendor;  // "AuthenticAMD", "GenuineIntel", "ARM", ...
  int family = 0;      // x86 family and model number; 0 elsewhere
  int model_number = 0;
  bool halves = false;               // a 512-bit vector is loaded and multiplied as two halves: Zen 4
  int64_t l1_data_bytes = 32 << 10;  // one core's
  int64_t l2_bytes = 512 << 10;      // one core's
  int64_t l3_bytes = 0;              // that a core can fill, with others; 0 where unknown
};

CANOPY_EXPORT const CpuFacts& Cpu();

// Threads a computation may use: CANOPY_NUM_THREADS if set (it may exceed what the machine has), else
// OMP_NUM_THREADS, else what the affinity mask and the cgroup's CPU quota allow. At least 1, at most 256.
CANOPY_EXPORT int DefaultThreadCount();

}  // namespace canopy::base

#endif  // CANOPY_BASE_CPU_H_
