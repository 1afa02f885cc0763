// SPDX-License-Identifier: Apache-2.0
// Requests for lines of memory that are read or written soon.
#ifndef CANOPY_KERNELS_ASK_H_
#define CANOPY_KERNELS_ASK_H_

namespace canopy::kernels {

// The empty statements are what keeps a request: GCC takes a function that does nothing else for one without effect,
// and drops its calls.

// Into the L2, which has places for more lines on their way than an L1: they come up to twice as fast where more than a
// hundred are asked for ahead (docs/performance-tried.md).
__attribute__((always_inline)) inline void Ask(const void* at) {
  __builtin_prefetch(at, 0, 2);
  asm volatile("");
}
// Into the L1: for a few lines that are read at once.
__attribute__((always_inline)) inline void AskNear(const void* at) {
  __builtin_prefetch(at, 0, 3);
  asm volatile("");
}
__attribute__((always_inline)) inline void AskToWrite(const void* at) {
  __builtin_prefetch(at, 1, 3);
  asm volatile("");
}

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_ASK_H_
