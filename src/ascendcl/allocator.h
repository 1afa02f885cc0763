// SPDX-License-Identifier: Apache-2.0
// Memory for the program: where it comes from, and when it is refused. Linux promises more than it has and kills who
// takes it at its word, so sizes that the computer cannot keep are refused here.
#ifndef CANOPY_ASCENDCL_ALLOCATOR_H_
#define CANOPY_ASCENDCL_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

#include "ascendcl/block_registry.h"
#include "base/status.h"

namespace canopy::ascendcl {

// A registered block, aligned to 64 bytes, from 2 MiB on to its pages: 100000 for a size that cannot be counted with
// its padding, 207001 for one that this computer has not got now. REQUIRES: bytes > 0.
base::Status Allocate(size_t bytes, BlockKind kind, bool huge_pages, void** base);

// Frees a block of Allocate's. False: no block of this kind begins there.
bool Release(void* base, BlockKind kind) noexcept;

struct MemoryFigures {
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
};

// What can still be allocated: what the computer has, less what was promised and not touched yet.
MemoryFigures ReadMemoryFigures();

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_ALLOCATOR_H_
