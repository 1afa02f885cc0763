// SPDX-License-Identifier: Apache-2.0
// Making and destroying streams.
#include <algorithm>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/contexts.h"
#include "ascendcl/runtime.h"
#include "ascendcl/stream_config.h"
#include "ascendcl/waiting.h"

namespace canopy::ascendcl {
namespace {

constexpr uint32_t kLowestPriority = 7;

base::Status CreateStream(aclrtStream* handle, uint32_t priority, uint32_t flags) {
  if (handle == nullptr) return RefuseNull("stream");
  const RuntimeLock lock(Runtime::Get().mutex);
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(CurrentContext(&context));
  Stream* stream = nullptr;
  CANOPY_RETURN_IF_ERROR(NewStream(*context, std::min(priority, kLowestPriority), flags, &stream));
  *handle = stream->handle;
  return base::Status();
}

base::Status DestroyStream(aclrtStream handle, bool force) {
  if (handle == nullptr) return RefuseNull("stream");
  RuntimeLock lock(Runtime::Get().mutex);
  Stream* stream = nullptr;
  CANOPY_RETURN_IF_ERROR(FindStream(handle, &stream));
  if (stream == stream->context->default_stream) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "stream %p is the default stream of its context, with which it ends",
                  handle);
  }
  if (force) {
    AbandonStream(*stream, lock);
  } else {
    CANOPY_RETURN_IF_ERROR(CheckNotOwnCallback(*stream));
    EndStream(*stream, lock);
  }
  return base::Status();
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclError aclrtCreateStream(aclrtStream* stream) {
  return ascendcl::Boundary("aclrtCreateStream", [=] { return ascendcl::CreateStream(stream, 0, 0); });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return ascendcl::Boundary("aclrtCreateStreamWithConfig",
                            [=] { return ascendcl::CreateStream(stream, priority, flag); });
}

aclError aclrtCreateStreamV2(aclrtStream* stream, const aclrtStreamConfigHandle* handle) {
  return ascendcl::Boundary("aclrtCreateStreamV2", [=]() -> Status {
    if (stream == nullptr) return ascendcl::RefuseNull("stream");
    CANOPY_RETURN_IF_ERROR(ascendcl::CheckConfigHandle(handle));
    return ascendcl::CreateStream(stream, handle->priority, static_cast<uint32_t>(handle->flag));
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return ascendcl::Boundary("aclrtDestroyStream", [=] { return ascendcl::DestroyStream(stream, false); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return ascendcl::Boundary("aclrtDestroyStreamForce", [=] { return ascendcl::DestroyStream(stream, true); });
}
