// SPDX-License-Identifier: Apache-2.0
// Limits on the cores that devices, streams and threads may use: remembered and given back. Work here uses as many
// threads as CANOPY_NUM_THREADS says.
#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/runtime.h"
#include "ascendcl/thread_state.h"
#include "base/cpu.h"

namespace canopy::ascendcl {
namespace {

base::Status CheckType(aclrtDevResLimitType type) {
  if (type == ACL_RT_DEV_RES_CUBE_CORE || type == ACL_RT_DEV_RES_VECTOR_CORE) return base::Status();
  return Refuse(ACL_ERROR_INVALID_PARAM, "type is %d; allowed are CUBE_CORE (0) and VECTOR_CORE (1)",
                static_cast<int>(type));
}

uint32_t LimitOf(const Device& device, aclrtDevResLimitType type) {
  return device.limits[type].value_or(static_cast<uint32_t>(base::DefaultThreadCount()));
}

uint32_t LimitOf(const Stream& stream, aclrtDevResLimitType type) {
  return stream.limits[type].has_value() ? *stream.limits[type] : LimitOf(*stream.device, type);
}

// Calls use(Device&) or use(Stream&) under the lock.
template <typename Use>
aclError UseDevice(const char* function, int32_t device_id, Use&& use) {
  return Boundary(function, [&]() -> base::Status {
    const RuntimeLock lock(Runtime::Get().mutex);
    Device* device = nullptr;
    CANOPY_RETURN_IF_ERROR(FindDevice(device_id, &device));
    return use(*device);
  });
}

template <typename Use>
aclError UseStream(const char* function, aclrtStream handle, Use&& use) {
  return Boundary(function, [&]() -> base::Status {
    const RuntimeLock lock(Runtime::Get().mutex);
    Stream* stream = nullptr;
    CANOPY_RETURN_IF_ERROR(FindStream(handle, &stream));
    return use(*stream);
  });
}

template <typename Object>
base::Status SetLimit(Object& object, aclrtDevResLimitType type, uint32_t value) {
  CANOPY_RETURN_IF_ERROR(CheckType(type));
  object.limits[type] = value;
  return base::Status();
}

template <typename Object>
base::Status GetLimit(const Object& object, aclrtDevResLimitType type, uint32_t* value) {
  CANOPY_RETURN_IF_ERROR(CheckType(type));
  if (value == nullptr) return RefuseNull("value");
  *value = LimitOf(object, type);
  return base::Status();
}

template <typename Object>
base::Status ResetLimits(Object& object) {
  object.limits = {};
  return base::Status();
}

base::Status GetThreadLimit(aclrtDevResLimitType type, uint32_t* value) {
  const RuntimeLock lock(Runtime::Get().mutex);
  const Stream* stream = Runtime::Get().streams.Find(CurrentThread().limits_stream);
  if (stream != nullptr) return GetLimit(*stream, type, value);
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(CurrentContext(&context));
  return GetLimit(*context->device, type, value);
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  return ascendcl::UseDevice("aclrtSetDeviceResLimit", deviceId,
                             [=](ascendcl::Device& device) { return ascendcl::SetLimit(device, type, value); });
}

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
  return ascendcl::UseDevice("aclrtGetDeviceResLimit", deviceId,
                             [=](ascendcl::Device& device) { return ascendcl::GetLimit(device, type, value); });
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  return ascendcl::UseDevice("aclrtResetDeviceResLimit", deviceId,
                             [](ascendcl::Device& device) { return ascendcl::ResetLimits(device); });
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
  return ascendcl::UseStream("aclrtSetStreamResLimit", stream,
                             [=](ascendcl::Stream& found) { return ascendcl::SetLimit(found, type, value); });
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value) {
  return ascendcl::UseStream("aclrtGetStreamResLimit", stream,
                             [=](ascendcl::Stream& found) { return ascendcl::GetLimit(found, type, value); });
}

aclError aclrtResetStreamResLimit(aclrtStream stream) {
  return ascendcl::UseStream("aclrtResetStreamResLimit", stream,
                             [](ascendcl::Stream& found) { return ascendcl::ResetLimits(found); });
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  return ascendcl::UseStream("aclrtUseStreamResInCurrentThread", stream, [](ascendcl::Stream& found) {
    ascendcl::CurrentThread().limits_stream = found.handle;
    return Status();
  });
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
  return ascendcl::UseStream("aclrtUnuseStreamResInCurrentThread", stream, [](ascendcl::Stream& found) {
    if (ascendcl::CurrentThread().limits_stream == found.handle) ascendcl::CurrentThread().limits_stream = nullptr;
    return Status();
  });
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  return ascendcl::Boundary("aclrtGetResInCurrentThread", [=] { return ascendcl::GetThreadLimit(type, value); });
}
