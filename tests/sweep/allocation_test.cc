// SPDX-License-Identifier: Apache-2.0
// Phase 2 and the synchronisation behind it allocate nothing, in any thread of the process: all they need was booked in
// phase 1. This program's malloc takes the place of the C library's, for the shared libraries too, and counts.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "aclnn/acl_meta.h"
#include "tests/sweep/options.h"
#include "tests/sweep/problem.h"
#include "tools/runner.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0};

void Note() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  Note();
  return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  Note();
  return __libc_calloc(count, bytes);
}

void* realloc(void* memory, size_t bytes) {
  Note();
  return __libc_realloc(memory, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  Note();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  Note();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"

namespace canopy::sweep {
namespace {

tools::Storages Zeros(const tools::Case& problem) {
  tools::Storages storages;
  for (int i = 0; i < tools::kCallTensors; ++i) {
    const tools::TensorSpec& spec = problem.tensors[i];
    if (!spec.present) continue;
    const size_t bytes = tools::StorageElements(spec) * aclDataTypeSize(spec.dtype);
    storages[i] = tools::Allocate(bytes);
    EXPECT_EQ(aclrtMemset(storages[i].get(), bytes, 0, bytes), ACL_SUCCESS);
  }
  return storages;
}

TEST(Allocation, TheCounterSeesTheLibrariesAllocations) {
  const std::vector<int64_t> values(100, 1);
  allocations = 0;
  counting = true;
  aclIntArray* array = aclCreateIntArray(values.data(), values.size());
  counting = false;
  EXPECT_GT(allocations.load(), 0);
  EXPECT_EQ(aclDestroyIntArray(array), 0);
}

TEST(Allocation, RunningAllocatesNothing) {
  const tools::Runtime runtime;
  const int64_t count = Count(60);
  for (int64_t i = 0; i < count; ++i) {
    // Small problems run in the waiting thread, large ones on the pool.
    const tools::Case problem = MakeProblem(Seed() + 4000000 + i, i % 2 == 0 ? 1e4 : 1e7);
    const tools::Storages storages = Zeros(problem);
    tools::LaunchOptions options;
    ASSERT_EQ(tools::RunCase(problem, storages, runtime.stream(), options).phase2, 0) << problem.id;  // warm-up
    allocations = 0;
    options.before_phase2 = [] { counting = true; };
    options.after_synchronise = [] { counting = false; };
    ASSERT_EQ(tools::RunCase(problem, storages, runtime.stream(), options).phase2, 0) << problem.id;
    EXPECT_EQ(allocations.load(), 0) << problem.id;
  }
}

}  // namespace
}  // namespace canopy::sweep
