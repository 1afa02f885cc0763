// SPDX-License-Identifier: Apache-2.0
// Requests for lines of memory that are read or written soon.
#ifndef CANOPY_KERNELS_ASK_H_
#define CANOPY_KERNELS_ASK_H_

namespace canopy::kernels {

// The empty statement is what keeps a request: GCC takes a function that does nothing else for one without effect, and
// drops its calls.
inline void Ask(const void* at) {
  __builtin_prefetch(at, 0, 3);
  asm volatile("");
}
inline void AskToWrite(const void* at) {
  __builtin_prefetch(at, 1, 3);
  asm volatile("");
}

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_ASK_H_
