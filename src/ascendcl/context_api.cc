// SPDX-License-Identifier: Apache-2.0
// Contexts and which of them a thread uses.
#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/contexts.h"
#include "ascendcl/runtime.h"
#include "ascendcl/soc.h"
#include "ascendcl/thread_state.h"

namespace canopy::ascendcl {
namespace {

base::Status FindContext(aclrtContext handle, Context** context) {
  if (handle == nullptr) return RefuseNull("context");
  *context = Runtime::Get().contexts.Find(handle);
  if (*context != nullptr) return base::Status();
  return Refuse(ACL_ERROR_RT_INVALID_HANDLE, "context is %p, which is no living context of this process", handle);
}

base::Status CreateContext(aclrtContext* handle, int32_t device_id) {
  if (handle == nullptr) return RefuseNull("context");
  CANOPY_RETURN_IF_ERROR(CheckSoc());
  const RuntimeLock lock(Runtime::Get().mutex);
  Device* device = nullptr;
  CANOPY_RETURN_IF_ERROR(FindDevice(device_id, &device));
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(NewContext(*device, &context));
  *handle = CurrentThread().context = context->handle;
  return base::Status();
}

base::Status DestroyContext(aclrtContext handle) {
  RuntimeLock lock(Runtime::Get().mutex);
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(FindContext(handle, &context));
  if (context->device->primary == context) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID,
                  "context %p is the default context of device %d; aclrtResetDevice ends it, and only contexts of "
                  "aclrtCreateContext can be destroyed",
                  handle, context->device->id);
  }
  return EndContext(*context, lock);
}

base::Status GetPrimaryCtxState(int32_t device_id, const uint32_t* flags, int32_t* active) {
  if (flags != nullptr) return Refuse(ACL_ERROR_INVALID_PARAM, "flags is not null; it must be");
  if (active == nullptr) return RefuseNull("active");
  const RuntimeLock lock(Runtime::Get().mutex);
  Device* device = nullptr;
  CANOPY_RETURN_IF_ERROR(FindDevice(device_id, &device));
  *active = device->primary != nullptr ? 1 : 0;
  return base::Status();
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return ascendcl::Boundary("aclrtCreateContext", [=] { return ascendcl::CreateContext(context, deviceId); });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return ascendcl::Boundary("aclrtDestroyContext", [=] { return ascendcl::DestroyContext(context); });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return ascendcl::Boundary("aclrtSetCurrentContext", [=]() -> Status {
    const ascendcl::RuntimeLock lock(ascendcl::Runtime::Get().mutex);
    ascendcl::Context* found = nullptr;
    CANOPY_RETURN_IF_ERROR(ascendcl::FindContext(context, &found));
    ascendcl::CurrentThread().context = context;
    return Status();
  });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return ascendcl::Boundary("aclrtGetCurrentContext", [=]() -> Status {
    if (context == nullptr) return ascendcl::RefuseNull("context");
    const ascendcl::RuntimeLock lock(ascendcl::Runtime::Get().mutex);
    ascendcl::Context* found = nullptr;
    CANOPY_RETURN_IF_ERROR(ascendcl::CurrentContext(&found));
    *context = found->handle;
    return Status();
  });
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  return ascendcl::Boundary("aclrtCtxGetCurrentDefaultStream", [=]() -> Status {
    if (stream == nullptr) return ascendcl::RefuseNull("stream");
    const ascendcl::RuntimeLock lock(ascendcl::Runtime::Get().mutex);
    ascendcl::Context* found = nullptr;
    CANOPY_RETURN_IF_ERROR(ascendcl::CurrentContext(&found));
    *stream = found->default_stream->handle;
    return Status();
  });
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  return ascendcl::Boundary("aclrtGetPrimaryCtxState",
                            [=] { return ascendcl::GetPrimaryCtxState(deviceId, flags, active); });
}
