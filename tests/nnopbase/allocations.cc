// SPDX-License-Identifier: Apache-2.0
#include "tests/nnopbase/allocations.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace canopy::nnopbase {
namespace {

// Plain data of static storage: reading it allocates nothing.
struct Counts {
  long asked;
  long live;
  long fail_in;
  bool failed;
};
thread_local constinit Counts counts{};

bool Grant() {
  ++counts.asked;
  if (counts.fail_in > 0 && --counts.fail_in == 0) {
    counts.failed = true;
    return false;
  }
  ++counts.live;
  return true;
}

void Freed(void* p) {
  if (p != nullptr) --counts.live;
}

}  // namespace

long AllocationsOfThisThread() { return counts.asked; }
long LiveAllocationsOfThisThread() { return counts.live; }
void FailAllocationOfThisThread(long n) {
  counts.fail_in = n;
  counts.failed = false;
}
bool AllocationHasFailed() { return counts.failed; }

}  // namespace canopy::nnopbase

using canopy::nnopbase::Freed;
using canopy::nnopbase::Grant;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void* operator new(size_t size, const std::nothrow_t&) noexcept { return Grant() ? std::malloc(size) : nullptr; }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Grant() ? std::malloc(size) : nullptr; }
void* operator new(size_t size) {
  void* p = Grant() ? std::malloc(size) : nullptr;
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new[](size_t size) { return operator new(size); }
void operator delete(void* p) noexcept {
  Freed(p);
  std::free(p);
}
void operator delete(void* p, size_t) noexcept { operator delete(p); }
void operator delete[](void* p) noexcept { operator delete(p); }
void operator delete[](void* p, size_t) noexcept { operator delete(p); }

#else

// glibc's own names for what is replaced here. operator new comes through malloc.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* p, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* p);

__attribute__((visibility("default"))) void* malloc(size_t size) noexcept {
  return Grant() ? __libc_malloc(size) : nullptr;
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t size) noexcept {
  return Grant() ? __libc_calloc(count, size) : nullptr;
}
__attribute__((visibility("default"))) void* realloc(void* p, size_t size) noexcept {
  if (!Grant()) return nullptr;
  Freed(p);
  return __libc_realloc(p, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return Grant() ? __libc_memalign(alignment, size) : nullptr;
}
__attribute__((visibility("default"))) int posix_memalign(void** p, size_t alignment, size_t size) noexcept {
  *p = aligned_alloc(alignment, size);
  return *p != nullptr ? 0 : ENOMEM;
}
__attribute__((visibility("default"))) void free(void* p) noexcept {
  Freed(p);
  __libc_free(p);
}
}

#endif
