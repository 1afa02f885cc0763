// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/allocator.h"

#include <sys/mman.h>

#include <cstdlib>
#include <mutex>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/clock.h"
#include "ascendcl/fork_locks.h"
#include "base/system_memory.h"

namespace canopy::ascendcl {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kPadding = 32;  // behind every block, as on the device
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;
constexpr size_t kMaxBytes = ~size_t{0} - 2 * kPadding + 1;  // with its padding a block can still be counted

constexpr size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Reading the figures takes longer than a small allocation, so they are kept for a moment and counted down.
class Budget {
 public:
  std::mutex& mutex() { return mutex_; }

  // False: there is less than this; *available_bytes is then what there is.
  bool Take(size_t bytes, uint64_t* available_bytes) {
    const std::lock_guard guard(mutex_);
    const int64_t now_ns = NowNs();
    if (now_ns - read_ns_ > kKeepNs || bytes > available_bytes_ / 8) {
      available_bytes_ = ReadMemoryFigures().free_bytes;
      read_ns_ = now_ns;
    }
    *available_bytes = available_bytes_;
    if (bytes > available_bytes_) return false;
    available_bytes_ -= bytes;
    return true;
  }

 private:
  static constexpr int64_t kKeepNs = 100'000'000;
  std::mutex mutex_;
  uint64_t available_bytes_ = 0;
  int64_t read_ns_ = -kKeepNs - 1;
};

Budget& TheBudget() {
  static auto* const budget = new Budget;
  return *budget;
}

// A mapping of its own that begins at a multiple of `alignment`; nullptr: none to be had.
void* Map(size_t bytes, size_t alignment) {
  const size_t slack = alignment > kPage ? alignment : 0;
  void* mapping = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  if (slack == 0) return mapping;
  char* const begin = static_cast<char*>(mapping);
  const size_t address = reinterpret_cast<uintptr_t>(begin);
  const size_t head = RoundUp(address, alignment) - address;
  if (head > 0) munmap(begin, head);
  munmap(begin + head + bytes, slack - head);
  return begin + head;
}

void* Obtain(size_t bytes, bool huge_pages, Block* block) {
  const size_t padded = bytes + kPadding;
  if (bytes < kHugePage) return std::aligned_alloc(kAlignment, RoundUp(padded, kAlignment));
  block->page_bytes = huge_pages ? kHugePage : kPage;
  block->mapped = RoundUp(padded, kPage);
  void* base = Map(block->mapped, block->page_bytes);
  if (base != nullptr && huge_pages) madvise(base, block->mapped, MADV_HUGEPAGE);  // a wish: it may fail
  return base;
}

void GiveBack(void* base, const Block& block) noexcept {
  if (block.mapped > 0) {
    munmap(base, block.mapped);
  } else {
    std::free(base);
  }
}

}  // namespace

base::Status Allocate(size_t bytes, BlockKind kind, bool huge_pages, void** base) {
  if (bytes > kMaxBytes) {
    return Refuse(ACL_ERROR_INVALID_PARAM, "size is %zu bytes; at most %zu can be counted", bytes, kMaxBytes);
  }
  uint64_t available_bytes = 0;
  if (!TheBudget().Take(bytes, &available_bytes)) {
    return Refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "size is %zu bytes; this computer has %llu left for the process",
                  bytes, static_cast<unsigned long long>(available_bytes));
  }
  Block block;
  block.kind = kind;
  block.bytes = bytes;
  void* const obtained = Obtain(bytes, huge_pages, &block);
  if (obtained == nullptr) {
    return Refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "size is %zu bytes, which the system refuses to give", bytes);
  }
  try {
    AddBlock(obtained, block);
  } catch (...) {
    GiveBack(obtained, block);
    throw;
  }
  *base = obtained;
  return base::Status();
}

bool Release(void* base, BlockKind kind) noexcept {
  Block block;
  if (!RemoveBlock(base, kind, &block)) return false;
  GiveBack(base, block);
  return true;
}

void ForkMemoryBudget(ForkStep step) { FollowFork(TheBudget().mutex(), step); }

MemoryFigures ReadMemoryFigures() {
  const base::SystemMemory memory = base::ReadSystemMemory();
  const uint64_t allocated = AllocatedBytes();
  const uint64_t untouched = allocated > memory.resident_bytes ? allocated - memory.resident_bytes : 0;
  MemoryFigures figures;
  figures.total_bytes = memory.total_bytes;
  figures.free_bytes = memory.available_bytes > untouched ? memory.available_bytes - untouched : 0;
  return figures;
}

}  // namespace canopy::ascendcl
