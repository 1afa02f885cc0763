// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/function_task.h"

#include "ascendcl/clock.h"
#include "ascendcl/runtime.h"
#include "ascendcl/scheduler.h"
#include "ascendcl/waiting.h"

namespace canopy::ascendcl {

base::Status QueueTask(aclrtStream handle, std::unique_ptr<Task> task, bool wait) {
  RuntimeLock lock(Runtime::Get().mutex);
  Stream* stream = nullptr;
  CANOPY_RETURN_IF_ERROR(FindStream(handle, &stream));
  if (wait) CANOPY_RETURN_IF_ERROR(CheckNotOwnCallback(*stream));
  Enqueue(*stream, *task.release());
  if (wait) {
    const StreamPin pin(*stream);
    WaitFor(*stream, WaitGoal{stream->submitted, nullptr}, kNever, lock);
  }
  return base::Status();
}

base::Status CheckContext() {
  const RuntimeLock lock(Runtime::Get().mutex);
  Context* context = nullptr;
  return CurrentContext(&context);
}

}  // namespace canopy::ascendcl
