// SPDX-License-Identifier: Apache-2.0
// Setting memory to one byte or one word.
#include <algorithm>
#include <cstring>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/copy_checks.h"
#include "ascendcl/function_task.h"

namespace canopy::ascendcl {
namespace {

struct ByteSet {
  void* pointer;
  size_t room;
  int32_t value;
  size_t count;

  base::Status Check() const {
    if (pointer == nullptr) return RefuseNull("devPtr");
    return CheckFits("count", count, "maxCount", room);
  }
  size_t bytes() const { return count; }
  void Do() const { std::memset(pointer, value, count); }
};

struct WordSet {
  void* pointer;
  size_t room;
  uint32_t value;
  size_t count;  // words

  base::Status Check() const {
    if (pointer == nullptr) return RefuseNull("devPtr");
    if (count > room / sizeof(uint32_t)) {
      return Refuse(ACL_ERROR_RT_PARAM_INVALID, "N is %zu words; memSize is %zu bytes, room for %zu", count, room,
                    room / sizeof(uint32_t));
    }
    if (reinterpret_cast<uintptr_t>(pointer) % alignof(uint32_t) == 0) return base::Status();
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "devPtr is %p; it must be a multiple of 4", pointer);
  }
  size_t bytes() const { return count * sizeof(uint32_t); }
  void Do() const { std::fill_n(static_cast<uint32_t*>(pointer), count, value); }
};

template <typename Set>
aclError SetNow(const char* function, const Set& set) {
  return Boundary(function, [&]() -> base::Status {
    if (set.count == 0) return base::Status();
    CANOPY_RETURN_IF_ERROR(set.Check());
    CANOPY_RETURN_IF_ERROR(CheckContext());
    set.Do();
    return base::Status();
  });
}

template <typename Set>
aclError SetLater(const char* function, const Set& set, aclrtStream stream) {
  return Boundary(function, [&]() -> base::Status {
    if (set.count == 0) return base::Status();
    CANOPY_RETURN_IF_ERROR(set.Check());
    return QueueTask(stream, MakeTask(set.bytes(), [set] { set.Do(); }), /*wait=*/false);
  });
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return ascendcl::SetNow("aclrtMemset", ascendcl::ByteSet{devPtr, maxCount, value, count});
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  return ascendcl::SetLater("aclrtMemsetAsync", ascendcl::ByteSet{devPtr, maxCount, value, count}, stream);
}

aclError aclrtMemsetD32(void* devPtr, size_t memSize, uint32_t value, size_t N) {
  return ascendcl::SetNow("aclrtMemsetD32", ascendcl::WordSet{devPtr, memSize, value, N});
}

aclError aclrtMemsetD32Async(void* devPtr, size_t memSize, uint32_t value, size_t N, aclrtStream stream) {
  return ascendcl::SetLater("aclrtMemsetD32Async", ascendcl::WordSet{devPtr, memSize, value, N}, stream);
}
