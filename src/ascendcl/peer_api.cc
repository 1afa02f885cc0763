// SPDX-License-Identifier: Apache-2.0
// Devices among each other, and their state: all of them are this computer, always well.
#include "acl/acl_rt.h"
#include "ascendcl/allocator.h"
#include "ascendcl/boundary.h"
#include "ascendcl/runtime.h"

namespace canopy::ascendcl {
namespace {

base::Status CheckDevice(int64_t device_id) {
  Device* device = nullptr;
  return FindDevice(device_id, &device);
}

// The other device of the current one.
base::Status CheckPeer(int32_t peer_id) {
  CANOPY_RETURN_IF_ERROR(CheckDevice(peer_id));
  const RuntimeLock lock(Runtime::Get().mutex);
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(CurrentContext(&context));
  if (context->device->id != peer_id) return base::Status();
  return Refuse(ACL_ERROR_RT_PARAM_INVALID, "peerDeviceId is %d, the current device itself; it must be another",
                peer_id);
}

base::Status GetUtilization(int32_t device_id, aclrtUtilizationInfo* info) {
  if (info == nullptr) return RefuseNull("utilizationInfo");
  CANOPY_RETURN_IF_ERROR(CheckDevice(device_id));
  if (info->utilizationExtend != nullptr) {
    return Refuse(ACL_ERROR_INVALID_PARAM, "utilizationInfo->utilizationExtend is not null; it must be");
  }
  const MemoryFigures memory = ReadMemoryFigures();
  *info = aclrtUtilizationInfo{};
  if (memory.total_bytes > 0) {
    info->memoryUtilization = static_cast<int32_t>(100 - 100 * memory.free_bytes / memory.total_bytes);
  }
  return base::Status();
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus) {
  return ascendcl::Boundary("aclrtQueryDeviceStatus", [=]() -> Status {
    if (deviceStatus == nullptr) return ascendcl::RefuseNull("deviceStatus");
    CANOPY_RETURN_IF_ERROR(ascendcl::CheckDevice(deviceId));
    *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
    return Status();
  });
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo* utilizationInfo) {
  return ascendcl::Boundary("aclrtGetDeviceUtilizationRate",
                            [=] { return ascendcl::GetUtilization(deviceId, utilizationInfo); });
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  return ascendcl::Boundary("aclrtDeviceCanAccessPeer", [=]() -> Status {
    if (canAccessPeer == nullptr) return ascendcl::RefuseNull("canAccessPeer");
    CANOPY_RETURN_IF_ERROR(ascendcl::CheckDevice(deviceId));
    CANOPY_RETURN_IF_ERROR(ascendcl::CheckDevice(peerDeviceId));
    *canAccessPeer = deviceId != peerDeviceId ? 1 : 0;
    return Status();
  });
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  return ascendcl::Boundary("aclrtDeviceEnablePeerAccess", [=]() -> Status {
    if (flags != 0) return ascendcl::Refuse(ACL_ERROR_FEATURE_UNSUPPORTED, "flags is %u; it must be 0", flags);
    return ascendcl::CheckPeer(peerDeviceId);
  });
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  return ascendcl::Boundary("aclrtDeviceDisablePeerAccess", [=] { return ascendcl::CheckPeer(peerDeviceId); });
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
  if (leastPriority != nullptr) *leastPriority = 7;
  if (greatestPriority != nullptr) *greatestPriority = 0;
  return ACL_SUCCESS;
}
