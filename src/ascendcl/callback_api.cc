// SPDX-License-Identifier: Apache-2.0
// Calls of the program's functions in stream order.
#include <memory>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/control_task.h"
#include "ascendcl/runtime.h"
#include "ascendcl/scheduler.h"

namespace canopy::ascendcl {
namespace {

base::Status LaunchHostFunc(aclrtStream handle, aclrtHostFunc function, void* args) {
  if (function == nullptr) return RefuseNull("fn");
  auto task = std::make_unique<HostCallTask>(function, args);
  const RuntimeLock lock(Runtime::Get().mutex);
  Stream* stream = nullptr;
  CANOPY_RETURN_IF_ERROR(FindStream(handle, &stream));
  Enqueue(*stream, *task.release());
  return base::Status();
}

base::Status LaunchCallback(aclrtCallback function, void* user_data, aclrtCallbackBlockType type, aclrtStream handle) {
  if (function == nullptr) return RefuseNull("fn");
  if (type != ACL_CALLBACK_NO_BLOCK && type != ACL_CALLBACK_BLOCK) {
    return Refuse(ACL_ERROR_INVALID_PARAM,
                  "blockType is %d; allowed are ACL_CALLBACK_NO_BLOCK (0) and ACL_CALLBACK_BLOCK (1)",
                  static_cast<int>(type));
  }
  auto task = std::make_unique<ReportTask>(function, user_data, type == ACL_CALLBACK_BLOCK);
  const RuntimeLock lock(Runtime::Get().mutex);
  Stream* stream = nullptr;
  CANOPY_RETURN_IF_ERROR(FindStream(handle, &stream));
  if (stream->subscriber == nullptr) {
    return Refuse(ACL_ERROR_RT_STREAM_NO_CB_REG,
                  "no thread has subscribed to the stream; call aclrtSubscribeReport first");
  }
  Enqueue(*stream, *task.release());
  return base::Status();
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return ascendcl::Boundary("aclrtLaunchHostFunc", [=] { return ascendcl::LaunchHostFunc(stream, fn, args); });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
  return ascendcl::Boundary("aclrtLaunchCallback",
                            [=] { return ascendcl::LaunchCallback(fn, userData, blockType, stream); });
}
