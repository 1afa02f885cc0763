// SPDX-License-Identifier: Apache-2.0
// Allocating and freeing device and host memory.
#include "acl/acl_rt.h"
#include "ascendcl/allocator.h"
#include "ascendcl/boundary.h"
#include "ascendcl/device_sync.h"
#include "ascendcl/function_task.h"

namespace canopy::ascendcl {
namespace {

constexpr uint32_t kPolicyMask = 0xFF;  // above it: the kind of memory, of which there is one here

base::Status CheckConfig(const aclrtMallocConfig* config) {
  if (config == nullptr || config->numAttrs == 0 || config->attrs != nullptr) return base::Status();
  return Refuse(ACL_ERROR_INVALID_PARAM, "cfg->attrs is null while cfg->numAttrs is %zu", config->numAttrs);
}

base::Status CheckRequest(const char* pointer_name, void* const* pointer, size_t bytes) {
  if (pointer == nullptr) return RefuseNull(pointer_name);
  if (bytes == 0) return Refuse(ACL_ERROR_INVALID_PARAM, "size is 0; it must be above 0");
  return base::Status();
}

base::Status Malloc(void** pointer, size_t bytes, aclrtMemMallocPolicy policy, const aclrtMallocConfig* config) {
  CANOPY_RETURN_IF_ERROR(CheckRequest("devPtr", pointer, bytes));
  CANOPY_RETURN_IF_ERROR(CheckConfig(config));
  CANOPY_RETURN_IF_ERROR(CheckContext());
  const uint32_t pages = static_cast<uint32_t>(policy) & kPolicyMask;
  const bool huge_pages = pages != ACL_MEM_MALLOC_NORMAL_ONLY && pages != ACL_MEM_MALLOC_NORMAL_ONLY_P2P;
  return Allocate(bytes, BlockKind::kDevice, huge_pages, pointer);
}

base::Status MallocHost(void** pointer, size_t bytes, const char* pointer_name, const aclrtMallocConfig* config) {
  CANOPY_RETURN_IF_ERROR(CheckRequest(pointer_name, pointer, bytes));
  CANOPY_RETURN_IF_ERROR(CheckConfig(config));
  return Allocate(bytes, BlockKind::kHost, /*huge_pages=*/false, pointer);
}

// Says why an address cannot be freed.
base::Status RefuseFree(const char* name, const void* pointer, const char* allocator) {
  const void* base = nullptr;
  Block block;
  if (!FindBlock(pointer, &base, &block)) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "%s is %p, which %s did not return or which was freed already", name,
                  pointer, allocator);
  }
  if (base != pointer) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "%s is %p, inside of the block at %p; only its beginning can be freed",
                  name, pointer, base);
  }
  return Refuse(ACL_ERROR_RT_PARAM_INVALID, "%s is %p, which is %s memory; %s returns the other kind", name, pointer,
                block.kind == BlockKind::kDevice ? "device" : "host", allocator);
}

base::Status Free(void* pointer) {
  if (pointer == nullptr) return RefuseNull("devPtr");
  return Release(pointer, BlockKind::kDevice) ? base::Status() : RefuseFree("devPtr", pointer, "aclrtMalloc");
}

base::Status FreeHost(void* pointer) {
  if (pointer == nullptr) return RefuseNull("hostPtr");
  return Release(pointer, BlockKind::kHost) ? base::Status() : RefuseFree("hostPtr", pointer, "aclrtMallocHost");
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return ascendcl::Boundary("aclrtMalloc", [=] { return ascendcl::Malloc(devPtr, size, policy, nullptr); });
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return ascendcl::Boundary("aclrtMallocAlign32", [=] { return ascendcl::Malloc(devPtr, size, policy, nullptr); });
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return ascendcl::Boundary("aclrtMallocCached", [=] { return ascendcl::Malloc(devPtr, size, policy, nullptr); });
}

aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig* cfg) {
  return ascendcl::Boundary("aclrtMallocWithCfg", [=] { return ascendcl::Malloc(devPtr, size, policy, cfg); });
}

aclError aclrtMallocForTaskScheduler(void** devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig* cfg) {
  return ascendcl::Boundary("aclrtMallocForTaskScheduler", [=] { return ascendcl::Malloc(devPtr, size, policy, cfg); });
}

aclError aclrtFree(void* devPtr) {
  return ascendcl::Boundary("aclrtFree", [=] { return ascendcl::Free(devPtr); });
}

aclError aclrtFreeWithDevSync(void* devPtr) {
  return ascendcl::Boundary("aclrtFreeWithDevSync", [=]() -> Status {
    if (devPtr == nullptr) return ascendcl::RefuseNull("devPtr");
    CANOPY_RETURN_IF_ERROR(ascendcl::SynchronizeCurrentDevice());
    return ascendcl::Free(devPtr);
  });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return ascendcl::Boundary("aclrtMallocHost", [=] { return ascendcl::MallocHost(hostPtr, size, "hostPtr", nullptr); });
}

aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  return ascendcl::Boundary("aclrtMallocHostWithCfg", [=] { return ascendcl::MallocHost(ptr, size, "ptr", cfg); });
}

aclError aclrtFreeHost(void* hostPtr) {
  return ascendcl::Boundary("aclrtFreeHost", [=] { return ascendcl::FreeHost(hostPtr); });
}

aclError aclrtFreeHostWithDevSync(void* hostPtr) {
  return ascendcl::Boundary("aclrtFreeHostWithDevSync", [=]() -> Status {
    if (hostPtr == nullptr) return ascendcl::RefuseNull("hostPtr");
    CANOPY_RETURN_IF_ERROR(ascendcl::SynchronizeCurrentDevice());
    return ascendcl::FreeHost(hostPtr);
  });
}
