// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/block_registry.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "ascendcl/fork_locks.h"

namespace canopy::ascendcl {
namespace {

// By address. Readers do not keep each other out: phase 1 looks up every tensor.
struct Registry {
  std::shared_mutex mutex;
  std::map<uintptr_t, Block> blocks;
  uint64_t device_bytes = 0;
  uint64_t peak_device_bytes = 0;
  uint64_t host_bytes = 0;
};

Registry& TheRegistry() {
  static auto* const registry = new Registry;  // never destroyed: memory is freed while the process exits
  return *registry;
}

// The last block that begins at or below the address.
const std::pair<const uintptr_t, Block>* BlockBelow(const Registry& registry, uintptr_t address) {
  const auto above = registry.blocks.upper_bound(address);
  return above == registry.blocks.begin() ? nullptr : &*std::prev(above);
}

}  // namespace

void AddBlock(void* base, const Block& block) {
  Registry& registry = TheRegistry();
  const std::unique_lock lock(registry.mutex);
  registry.blocks.insert_or_assign(reinterpret_cast<uintptr_t>(base), block);
  if (block.kind == BlockKind::kDevice) {
    registry.device_bytes += block.bytes;
    registry.peak_device_bytes = std::max(registry.peak_device_bytes, registry.device_bytes);
  } else if (block.kind == BlockKind::kHost) {
    registry.host_bytes += block.bytes;
  }
}

bool RemoveBlock(void* base, BlockKind kind, Block* block) noexcept {
  Registry& registry = TheRegistry();
  const std::unique_lock lock(registry.mutex);
  const auto found = registry.blocks.find(reinterpret_cast<uintptr_t>(base));
  if (found == registry.blocks.end() || found->second.kind != kind) return false;
  *block = found->second;
  registry.blocks.erase(found);
  if (kind == BlockKind::kDevice) registry.device_bytes -= block->bytes;
  if (kind == BlockKind::kHost) registry.host_bytes -= block->bytes;
  return true;
}

bool FindBlock(const void* address, const void** base, Block* block) noexcept {
  Registry& registry = TheRegistry();
  const uintptr_t wanted = reinterpret_cast<uintptr_t>(address);
  const std::shared_lock lock(registry.mutex);
  const auto* found = BlockBelow(registry, wanted);
  if (found == nullptr || wanted - found->first >= found->second.bytes) return false;
  *base = reinterpret_cast<const void*>(found->first);
  *block = found->second;
  return true;
}

bool FindMemoryBlock(const void* address, MemoryBlock* block) noexcept {
  Registry& registry = TheRegistry();
  const uintptr_t wanted = reinterpret_cast<uintptr_t>(address);
  const std::shared_lock lock(registry.mutex);
  const auto* found = BlockBelow(registry, wanted);
  if (found == nullptr || wanted - found->first > found->second.bytes) return false;
  block->base = reinterpret_cast<const void*>(found->first);
  block->bytes = found->second.bytes;
  block->device = found->second.kind == BlockKind::kDevice;
  return true;
}

uint64_t DeviceBytes() noexcept {
  const std::shared_lock lock(TheRegistry().mutex);
  return TheRegistry().device_bytes;
}

uint64_t PeakDeviceBytes() noexcept {
  const std::shared_lock lock(TheRegistry().mutex);
  return TheRegistry().peak_device_bytes;
}

uint64_t AllocatedBytes() noexcept {
  const std::shared_lock lock(TheRegistry().mutex);
  return TheRegistry().device_bytes + TheRegistry().host_bytes;
}

void ForkBlocks(ForkStep step) {
  std::shared_mutex& mutex = TheRegistry().mutex;
  if (step == ForkStep::kBefore) {
    mutex.lock();
  } else if (step == ForkStep::kInParent) {
    mutex.unlock();
  } else {
    new (&mutex) std::shared_mutex;  // it remembers its writer by a number that the child does not have
  }
}

}  // namespace canopy::ascendcl
