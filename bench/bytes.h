// SPDX-License-Identifier: Apache-2.0
// Memory for those who do not have aclrtMalloc's: on huge pages where the machine gives them, as that is.
#ifndef CANOPY_BENCH_BYTES_H_
#define CANOPY_BENCH_BYTES_H_

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace canopy::bench {

struct FreeMemory {
  void operator()(char* memory) const { std::free(memory); }
};
using Bytes = std::unique_ptr<char, FreeMemory>;

inline Bytes AllocateBytes(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  const size_t rounded = (bytes + alignment) / alignment * alignment;
  Bytes memory(static_cast<char*>(std::aligned_alloc(alignment, rounded)));
  if (memory == nullptr) throw std::bad_alloc();
  if (alignment == kHugePage) madvise(memory.get(), rounded, MADV_HUGEPAGE);
  return memory;
}

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_BYTES_H_
