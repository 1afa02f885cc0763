// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/runtime.h"

#include "ascendcl/boundary.h"
#include "ascendcl/contexts.h"
#include "ascendcl/process_life.h"
#include "ascendcl/thread_state.h"
#include "base/env.h"

namespace canopy::ascendcl {
namespace {

constexpr int64_t kMaxDevices = 64;

}  // namespace

Runtime::Runtime() {
  const int64_t count = base::EnvInt("CANOPY_DEVICE_COUNT", 1, kMaxDevices, 1);
  for (int id = 0; id < count; ++id) devices.emplace_back(id);
}

Runtime& Runtime::Get() {
  static Runtime* const runtime = [] {
    auto* created = new Runtime;
    FollowProcess();
    return created;
  }();
  return *runtime;
}

base::Status FindDevice(int64_t device_id, Device** device) {
  Runtime& runtime = Runtime::Get();
  const int64_t count = static_cast<int64_t>(runtime.devices.size());
  if (device_id < 0 || device_id >= count) {
    return Refuse(ACL_ERROR_RT_INVALID_DEVICEID, "deviceId is %lld; allowed are 0 to %lld (CANOPY_DEVICE_COUNT - 1)",
                  static_cast<long long>(device_id), static_cast<long long>(count - 1));
  }
  *device = &runtime.devices[device_id];
  return base::Status();
}

base::Status CurrentContext(Context** context) {
  Runtime& runtime = Runtime::Get();
  *context = runtime.contexts.Find(CurrentThread().context);
  if (*context != nullptr) return base::Status();
  if (runtime.default_device >= 0) return UseDevice(runtime.devices[runtime.default_device], context);
  return Refuse(ACL_ERROR_RT_CONTEXT_NULL,
                "this thread has no current context; call aclrtSetDevice or aclrtSetCurrentContext first");
}

base::Status FindStream(aclrtStream handle, Stream** stream) {
  Context* context = nullptr;
  if (handle == nullptr) {
    CANOPY_RETURN_IF_ERROR(CurrentContext(&context));
    *stream = context->default_stream;
    return base::Status();
  }
  *stream = Runtime::Get().streams.Find(handle);
  if (*stream == nullptr) {
    return Refuse(ACL_ERROR_RT_INVALID_HANDLE, "stream is %p, which is no living stream of this process", handle);
  }
  CANOPY_RETURN_IF_ERROR(CurrentContext(&context));
  if ((*stream)->context != context) {
    return Refuse(ACL_ERROR_RT_STREAM_CONTEXT, "stream %p belongs to another context than the thread's current one",
                  handle);
  }
  return base::Status();
}

base::Status FindEvent(aclrtEvent handle, Event** event) {
  if (handle == nullptr) return RefuseNull("event");
  *event = Runtime::Get().events.Find(handle);
  if (*event != nullptr) return base::Status();
  return Refuse(ACL_ERROR_RT_INVALID_HANDLE, "event is %p, which is no living event of this process", handle);
}

}  // namespace canopy::ascendcl
