// SPDX-License-Identifier: Apache-2.0
// Choosing, counting, resetting and waiting for devices.
#include <utility>
#include <vector>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/clock.h"
#include "ascendcl/contexts.h"
#include "ascendcl/device_sync.h"
#include "ascendcl/runtime.h"
#include "ascendcl/soc.h"
#include "ascendcl/waiting.h"

namespace canopy::ascendcl {
namespace {

base::Status SetDevice(int32_t device_id) {
  CANOPY_RETURN_IF_ERROR(CheckSoc());
  const RuntimeLock lock(Runtime::Get().mutex);
  Device* device = nullptr;
  CANOPY_RETURN_IF_ERROR(FindDevice(device_id, &device));
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(UseDevice(*device, &context));
  ++device->uses;
  return base::Status();
}

base::Status ResetDevice(int32_t device_id, bool force) {
  Runtime& runtime = Runtime::Get();
  RuntimeLock lock(runtime.mutex);
  Device* device = nullptr;
  CANOPY_RETURN_IF_ERROR(FindDevice(device_id, &device));
  if (device->primary == nullptr) {
    return Refuse(ACL_ERROR_RT_CONTEXT_RELEASE_ERROR,
                  "device %d is not in use: aclrtSetDevice was not called, or it was reset already", device_id);
  }
  if (!force && device->uses > 1) {
    --device->uses;
    return base::Status();
  }
  Context& primary = *device->primary;
  for (const Stream* stream : primary.streams) CANOPY_RETURN_IF_ERROR(CheckNotOwnCallback(*stream));
  device->primary = nullptr;
  device->uses = 0;
  device->overflow_mode.reset();
  CANOPY_RETURN_IF_ERROR(EndContext(primary, lock));
  bool in_use = device->primary != nullptr;
  runtime.contexts.ForEach([&](const Context* context) { in_use = in_use || context->device == device; });
  if (!in_use) StopDispatcher(*device, Dispatcher::Stop::kWhenIdle, lock);
  return base::Status();
}

base::Status SynchronizeDevice(int32_t timeout_ms) {
  if (timeout_ms < -1) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d; allowed are -1 (for ever) and milliseconds from 0 on",
                  timeout_ms);
  }
  const int64_t deadline_ns = DeadlineAfter(timeout_ms);
  Runtime& runtime = Runtime::Get();
  RuntimeLock lock(runtime.mutex);
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(CurrentContext(&context));
  Device* const device = context->device;
  std::vector<aclrtStream> handles;
  base::Status own_callback;
  runtime.streams.ForEach([&](const Stream* stream) {
    if (stream->device != device || stream->never_synchronises()) return;
    handles.push_back(stream->handle);
    if (own_callback.ok()) own_callback = CheckNotOwnCallback(*stream);
  });
  CANOPY_RETURN_IF_ERROR(own_callback);
  base::Status first;
  for (const aclrtStream handle : handles) {
    Stream* stream = runtime.streams.Find(handle);
    if (stream == nullptr) continue;  // destroyed meanwhile, which waits as well
    base::Status status = Synchronize(*stream, deadline_ns, lock);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace

base::Status SynchronizeCurrentDevice() { return SynchronizeDevice(-1); }

}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclError aclrtSetDevice(int32_t deviceId) {
  return ascendcl::Boundary("aclrtSetDevice", [=] { return ascendcl::SetDevice(deviceId); });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return ascendcl::Boundary("aclrtResetDevice", [=] { return ascendcl::ResetDevice(deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return ascendcl::Boundary("aclrtResetDeviceForce", [=] { return ascendcl::ResetDevice(deviceId, true); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return ascendcl::Boundary("aclrtGetDevice", [=]() -> Status {
    if (deviceId == nullptr) return ascendcl::RefuseNull("deviceId");
    const ascendcl::RuntimeLock lock(ascendcl::Runtime::Get().mutex);
    ascendcl::Context* context = nullptr;
    CANOPY_RETURN_IF_ERROR(ascendcl::CurrentContext(&context));
    *deviceId = context->device->id;
    return Status();
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return ascendcl::Boundary("aclrtGetDeviceCount", [=]() -> Status {
    if (count == nullptr) return ascendcl::RefuseNull("count");
    *count = static_cast<uint32_t>(ascendcl::Runtime::Get().devices.size());
    return Status();
  });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return ascendcl::Boundary("aclrtGetRunMode", [=]() -> Status {
    if (runMode == nullptr) return ascendcl::RefuseNull("runMode");
    *runMode = ACL_HOST;
    return Status();
  });
}

aclError aclrtSynchronizeDevice(void) {
  return ascendcl::Boundary("aclrtSynchronizeDevice", [] { return ascendcl::SynchronizeDevice(-1); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return ascendcl::Boundary("aclrtSynchronizeDeviceWithTimeout", [=] { return ascendcl::SynchronizeDevice(timeout); });
}

aclError aclrtSetTsDevice(aclrtTsId tsId) {
  return ascendcl::Boundary("aclrtSetTsDevice", [=]() -> Status {
    if (tsId == ACL_TS_ID_AICORE || tsId == ACL_TS_ID_AIVECTOR) return Status();
    return ascendcl::Refuse(ACL_ERROR_INVALID_PARAM,
                            "tsId is %d; allowed are ACL_TS_ID_AICORE (0) and ACL_TS_ID_AIVECTOR (1)",
                            static_cast<int>(tsId));
  });
}
