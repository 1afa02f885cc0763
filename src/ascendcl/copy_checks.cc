// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/copy_checks.h"

#include "ascendcl/block_registry.h"
#include "ascendcl/boundary.h"

namespace canopy::ascendcl {

base::Status CheckPointers(const void* dst, const void* src) {
  if (dst == nullptr) return RefuseNull("dst");
  if (src == nullptr) return RefuseNull("src");
  return base::Status();
}

base::Status CheckKind(int kind, int lowest, int highest) {
  if (kind >= lowest && kind <= highest) return base::Status();
  return Refuse(ACL_ERROR_INVALID_PARAM, "kind is %d; allowed are %d to %d of aclrtMemcpyKind", kind, lowest, highest);
}

base::Status CheckFits(const char* count_name, size_t count, const char* room_name, size_t room) {
  if (count <= room) return base::Status();
  return Refuse(ACL_ERROR_RT_PARAM_INVALID, "%s is %zu bytes; at most %s, which is %zu, are allowed", count_name, count,
                room_name, room);
}

bool IsPlainHostMemory(const void* address) {
  const void* base = nullptr;
  Block block;
  return !FindBlock(address, &base, &block);
}

}  // namespace canopy::ascendcl
