// SPDX-License-Identifier: Apache-2.0
// The inside of memory_blocks.h: who adds and removes blocks.
#ifndef CANOPY_ASCENDCL_BLOCK_REGISTRY_H_
#define CANOPY_ASCENDCL_BLOCK_REGISTRY_H_

#include <cstddef>
#include <cstdint>

#include "ascendcl/memory_blocks.h"

namespace canopy::ascendcl {

enum class BlockKind { kDevice, kHost, kRegistered };

struct Block {
  BlockKind kind = BlockKind::kDevice;
  size_t bytes = 0;   // as requested
  size_t mapped = 0;  // of a mapping of its own; 0: from the heap
  size_t page_bytes = 4096;
};

// May throw bad_alloc. REQUIRES: overlaps no block of the kinds that own their memory.
void AddBlock(void* base, const Block& block);

// Takes the block that begins at `base` out. False: none of this kind begins there.
bool RemoveBlock(void* base, BlockKind kind, Block* block) noexcept;

// The block that `address` lies in; one past the end does not count. False: no block of ours.
bool FindBlock(const void* address, const void** base, Block* block) noexcept;

// What aclrtMalloc handed out and was not freed, and the most that was.
uint64_t DeviceBytes() noexcept;
uint64_t PeakDeviceBytes() noexcept;
// The same for all memory that the library allocated for the program.
uint64_t AllocatedBytes() noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_BLOCK_REGISTRY_H_
