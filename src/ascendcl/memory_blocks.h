// SPDX-License-Identifier: Apache-2.0
// The registry of what aclrtMalloc and its siblings handed out: device memory is host memory, so the registry is the
// only thing that tells the two apart.
#ifndef CANOPY_ASCENDCL_MEMORY_BLOCKS_H_
#define CANOPY_ASCENDCL_MEMORY_BLOCKS_H_

#include <cstddef>

#include "base/export.h"

namespace canopy::ascendcl {

struct MemoryBlock {
  const void* base = nullptr;
  size_t bytes = 0;     // as requested
  bool device = false;  // aclrtMalloc and siblings; false: aclrtMallocHost and registered host memory
};

// The block that `address` lies in (one past the end counts as inside for empty views). False: no block of ours.
CANOPY_EXPORT bool FindMemoryBlock(const void* address, MemoryBlock* block) noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_MEMORY_BLOCKS_H_
