// SPDX-License-Identifier: Apache-2.0
// How much memory there is, what an address is, and host memory that the program tells the library about.
#include <cstdio>

#include "acl/acl_rt.h"
#include "ascendcl/allocator.h"
#include "ascendcl/boundary.h"
#include "ascendcl/runtime.h"

namespace canopy::ascendcl {
namespace {

// There is one memory, whatever kind is asked for, and no pages of 1 GiB.
bool IsThisMemory(int attribute) {
  const bool known = attribute >= ACL_DDR_MEM && attribute <= ACL_MEM_P2P_HUGE1G;
  return known && attribute != ACL_HBM_MEM_HUGE1G && attribute != ACL_HBM_MEM_P2P_HUGE1G &&
         attribute != ACL_MEM_HUGE1G && attribute != ACL_MEM_P2P_HUGE1G;
}

base::Status GetMemInfo(aclrtMemAttr attribute, size_t* free_bytes, size_t* total_bytes) {
  if (free_bytes == nullptr) return RefuseNull("free");
  if (total_bytes == nullptr) return RefuseNull("total");
  const MemoryFigures figures = IsThisMemory(attribute) ? ReadMemoryFigures() : MemoryFigures();
  *free_bytes = figures.free_bytes;
  *total_bytes = figures.total_bytes;
  return base::Status();
}

base::Status GetMemUsageInfo(int32_t device_id, aclrtMemUsageInfo* info, size_t room, size_t* count) {
  if (info == nullptr) return RefuseNull("memUsageInfo");
  if (count == nullptr) return RefuseNull("outputNum");
  if (room == 0) return Refuse(ACL_ERROR_INVALID_PARAM, "inputNum is 0; it must be above 0");
  const RuntimeLock lock(Runtime::Get().mutex);
  Device* device = nullptr;
  CANOPY_RETURN_IF_ERROR(FindDevice(device_id, &device));
  *info = aclrtMemUsageInfo{};
  std::snprintf(info->name, sizeof(info->name), "APP");
  info->curMemSize = DeviceBytes();
  info->memPeakSize = PeakDeviceBytes();
  *count = 1;
  return base::Status();
}

base::Status GetAttributes(const void* pointer, aclrtPtrAttributes* attributes) {
  if (pointer == nullptr) return RefuseNull("ptr");
  if (attributes == nullptr) return RefuseNull("attributes");
  *attributes = aclrtPtrAttributes{};
  attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  const void* base = nullptr;
  Block block;
  if (!FindBlock(pointer, &base, &block)) return base::Status();
  const bool device = block.kind == BlockKind::kDevice;
  attributes->location.type = device ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST;
  attributes->pageSize = static_cast<uint32_t>(block.page_bytes);
  return base::Status();
}

base::Status Register(void* pointer, uint64_t bytes) {
  if (pointer == nullptr) return RefuseNull("ptr");
  if (bytes == 0) return Refuse(ACL_ERROR_INVALID_PARAM, "size is 0; it must be above 0");
  const void* base = nullptr;
  Block known;
  if (FindBlock(pointer, &base, &known)) {
    return Refuse(ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "ptr is %p, inside of the known block at %p", pointer,
                  base);
  }
  Block block;
  block.kind = BlockKind::kRegistered;
  block.bytes = bytes;
  AddBlock(pointer, block);
  return base::Status();
}

base::Status CheckRange(const void* pointer, size_t bytes) {
  if (pointer == nullptr) return RefuseNull("devPtr");
  return bytes > 0 ? base::Status() : Refuse(ACL_ERROR_INVALID_PARAM, "size is 0; it must be above 0");
}

base::Status GetDevicePointer(void* host, void** device, uint32_t flag) {
  if (host == nullptr) return RefuseNull("pHost");
  if (device == nullptr) return RefuseNull("pDevice");
  if (flag != 0) return Refuse(ACL_ERROR_INVALID_PARAM, "flag is %u; it must be 0", flag);
  const void* base = nullptr;
  Block block;
  if (!FindBlock(host, &base, &block) || block.kind == BlockKind::kDevice) {
    return Refuse(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED,
                  "pHost is %p, which is not in memory of aclrtMallocHost or aclrtHostRegister", host);
  }
  *device = host;
  return base::Status();
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return ascendcl::Boundary("aclrtGetMemInfo", [=] { return ascendcl::GetMemInfo(attr, free, total); });
}

aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum, size_t* outputNum) {
  return ascendcl::Boundary("aclrtGetMemUsageInfo",
                            [=] { return ascendcl::GetMemUsageInfo(deviceId, memUsageInfo, inputNum, outputNum); });
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  return ascendcl::Boundary("aclrtPointerGetAttributes", [=] { return ascendcl::GetAttributes(ptr, attributes); });
}

aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  return ascendcl::Boundary("aclrtHostRegister", [=]() -> Status {
    if (devPtr == nullptr) return ascendcl::RefuseNull("devPtr");
    if (type != ACL_HOST_REGISTER_MAPPED && type != ACL_HOST_REGISTER_IOMEMORY && type != ACL_HOST_REGISTER_READONLY) {
      return ascendcl::Refuse(ACL_ERROR_INVALID_PARAM, "type is %d; allowed are 0, 4 and 8 of aclrtHostRegisterType",
                              static_cast<int>(type));
    }
    CANOPY_RETURN_IF_ERROR(ascendcl::Register(ptr, size));
    *devPtr = ptr;
    return Status();
  });
}

aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
  return ascendcl::Boundary("aclrtHostRegisterV2", [=]() -> Status {
    constexpr uint32_t kFlags =
        ACL_HOST_REG_MAPPED | ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY | ACL_HOST_REG_PINNED;
    if ((flag & ~kFlags) != 0) {
      return ascendcl::Refuse(ACL_ERROR_INVALID_PARAM, "flag is 0x%x; allowed are combinations of ACL_HOST_REG_*",
                              flag);
    }
    return ascendcl::Register(ptr, size);
  });
}

aclError aclrtHostUnregister(void* ptr) {
  return ascendcl::Boundary("aclrtHostUnregister", [=]() -> Status {
    if (ptr == nullptr) return ascendcl::RefuseNull("ptr");
    ascendcl::Block block;
    if (ascendcl::RemoveBlock(ptr, ascendcl::BlockKind::kRegistered, &block)) return Status();
    return ascendcl::Refuse(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "ptr is %p, which is not registered", ptr);
  });
}

aclError aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag) {
  return ascendcl::Boundary("aclrtHostGetDevicePointer",
                            [=] { return ascendcl::GetDevicePointer(pHost, pDevice, flag); });
}

aclError aclrtMemFlush(void* devPtr, size_t size) {
  return ascendcl::Boundary("aclrtMemFlush", [=] { return ascendcl::CheckRange(devPtr, size); });
}

aclError aclrtMemInvalidate(void* devPtr, size_t size) {
  return ascendcl::Boundary("aclrtMemInvalidate", [=] { return ascendcl::CheckRange(devPtr, size); });
}
