// SPDX-License-Identifier: Apache-2.0
// Device memory that goes with its test.
#ifndef CANOPY_TESTS_ASCENDCL_MEMORY_FIXTURE_H_
#define CANOPY_TESTS_ASCENDCL_MEMORY_FIXTURE_H_

#include <memory>
#include <vector>

#include "tests/ascendcl/runtime_fixture.h"

namespace canopy::ascendcl {

inline constexpr auto kPolicy = ACL_MEM_MALLOC_HUGE_FIRST;

class MemoryTest : public RuntimeTest {
 protected:
  void* Device(size_t bytes) {
    void* pointer = nullptr;
    EXPECT_EQ(aclrtMalloc(&pointer, bytes, kPolicy), ACL_SUCCESS) << RecentErrors();
    device_.emplace_back(pointer, aclrtFree);
    return pointer;
  }
  static aclrtMemLocationType LocationOf(const void* pointer) {
    aclrtPtrAttributes attributes{};
    EXPECT_EQ(aclrtPointerGetAttributes(pointer, &attributes), ACL_SUCCESS) << RecentErrors();
    return attributes.location.type;
  }

 private:
  std::vector<std::unique_ptr<void, aclError (*)(void*)>> device_;
};

}  // namespace canopy::ascendcl

#endif  // CANOPY_TESTS_ASCENDCL_MEMORY_FIXTURE_H_
