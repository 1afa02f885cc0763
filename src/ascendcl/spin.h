// SPDX-License-Identifier: Apache-2.0
// Waiting for a moment without giving the processor away.
#ifndef CANOPY_ASCENDCL_SPIN_H_
#define CANOPY_ASCENDCL_SPIN_H_

#include <cstdint>

#include "ascendcl/clock.h"

namespace canopy::ascendcl {

inline void PauseProcessor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns as soon as `done` holds or the time is over.
template <typename Done>
void SpinUntil(int64_t until_ns, Done done) {
  while (!done() && NowNs() < until_ns) {
    for (int i = 0; i < 16; ++i) PauseProcessor();
  }
}

inline void SpinFor(int64_t ns) {
  SpinUntil(NowNs() + ns, [] { return false; });
}

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_SPIN_H_
