// SPDX-License-Identifier: Apache-2.0
// Stores past the caches.
#ifndef CANOPY_KERNELS_STREAMS_H_
#define CANOPY_KERNELS_STREAMS_H_

#include <algorithm>
#include <cstdint>

namespace canopy::kernels {

// Bytes. What is streamed begins with a line of memory and is whole ones.
inline constexpr int64_t kMemoryLine = 64, kMemoryLineFloats = kMemoryLine / 4;

// Whether `count` floats are whole lines.
inline bool AreLines(const float* at, int64_t count) {
  return count % kMemoryLineFloats == 0 && reinterpret_cast<uintptr_t>(at) % kMemoryLine == 0;
}

// Of `count` floats, those before the first line of memory that begins with one of them: all, if none does.
inline int64_t FloatsBeforeALine(const float* at, int64_t count) {
  const int64_t bytes = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(at) % kMemoryLine);
  return bytes % 4 == 0 ? std::min(count, bytes / 4) : count;
}

// Comes between a thread's streaming kernels and whatever tells others of their results.
void FinishStreams();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_STREAMS_H_
