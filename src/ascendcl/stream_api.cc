// SPDX-License-Identifier: Apache-2.0
// Waiting for streams, asking about them, and what is remembered of them.
#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/clock.h"
#include "ascendcl/runtime.h"
#include "ascendcl/scheduler.h"
#include "ascendcl/task.h"
#include "ascendcl/waiting.h"

namespace canopy::ascendcl {
namespace {

base::Status SynchronizeStream(aclrtStream handle, int64_t timeout_ms) {
  if (timeout_ms < -1 || timeout_ms == 0) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "timeout is %lld; allowed are -1 (for ever) and milliseconds above 0",
                  static_cast<long long>(timeout_ms));
  }
  const int64_t deadline_ns = DeadlineAfter(timeout_ms);
  RuntimeLock lock(Runtime::Get().mutex);
  Stream* stream = nullptr;
  CANOPY_RETURN_IF_ERROR(FindStream(handle, &stream));
  if (stream->never_synchronises()) return base::Status();
  return Synchronize(*stream, deadline_ns, lock);
}

base::Status QueryStream(aclrtStream handle, aclrtStreamStatus* status) {
  if (status == nullptr) return RefuseNull("status");
  const RuntimeLock lock(Runtime::Get().mutex);
  Stream* stream = nullptr;
  CANOPY_RETURN_IF_ERROR(FindStream(handle, &stream));
  *status = stream->idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  // Whoever asks again and again should not wait for the dispatcher's next look.
  if (!stream->idle()) WakeDispatcher(*stream->device, /*hurry=*/true);
  return base::Status();
}

// Reads or writes what is remembered of a stream, under the lock.
template <typename Use>
base::Status UseStream(aclrtStream handle, Use&& use) {
  const RuntimeLock lock(Runtime::Get().mutex);
  Stream* stream = nullptr;
  CANOPY_RETURN_IF_ERROR(FindStream(handle, &stream));
  use(*stream);
  return base::Status();
}

template <typename T, typename Read>
aclError ReadStream(const char* function, aclrtStream handle, const char* name, T* value, Read&& read) {
  return Boundary(function, [&]() -> base::Status {
    if (value == nullptr) return RefuseNull(name);
    return UseStream(handle, [&](const Stream& stream) { *value = read(stream); });
  });
}

}  // namespace

aclError Submit(aclrtStream stream, Task* task) noexcept {
  return Boundary("a stream's queue", [=] {
    return UseStream(stream, [task](Stream& found) {
      task->saturate = found.saturate;
      Enqueue(found, *task);
    });
  });
}

}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return ascendcl::Boundary("aclrtSynchronizeStream", [=] { return ascendcl::SynchronizeStream(stream, -1); });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return ascendcl::Boundary("aclrtSynchronizeStreamWithTimeout",
                            [=] { return ascendcl::SynchronizeStream(stream, timeout); });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return ascendcl::Boundary("aclrtStreamQuery", [=] { return ascendcl::QueryStream(stream, status); });
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  return ascendcl::ReadStream("aclrtStreamGetPriority", stream, "priority", priority,
                              [](const ascendcl::Stream& found) { return found.priority; });
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
  return ascendcl::ReadStream("aclrtStreamGetFlags", stream, "flags", flags,
                              [](const ascendcl::Stream& found) { return found.flags; });
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  return ascendcl::ReadStream("aclrtStreamGetId", stream, "streamId", streamId, [](const ascendcl::Stream& found) {
    return static_cast<int32_t>(ascendcl::HandleTable<ascendcl::Stream>::IndexBits(found.handle));
  });
}

aclError aclrtGetStreamAvailableNum(uint32_t* streamCount) {
  return ascendcl::Boundary("aclrtGetStreamAvailableNum", [=]() -> Status {
    if (streamCount == nullptr) return ascendcl::RefuseNull("streamCount");
    ascendcl::Runtime& runtime = ascendcl::Runtime::Get();
    const ascendcl::RuntimeLock lock(runtime.mutex);
    *streamCount = static_cast<uint32_t>(runtime.streams.capacity() - runtime.streams.size());
    return Status();
  });
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return ascendcl::Boundary("aclrtSetStreamFailureMode", [=]() -> Status {
    if (mode > ACL_STOP_ON_FAILURE) {
      return ascendcl::Refuse(ACL_ERROR_RT_PARAM_INVALID,
                              "mode is %llu; allowed are ACL_CONTINUE_ON_FAILURE (0) and ACL_STOP_ON_FAILURE (1)",
                              static_cast<unsigned long long>(mode));
    }
    return ascendcl::UseStream(
        stream, [mode](ascendcl::Stream& found) { found.stop_on_failure = mode == ACL_STOP_ON_FAILURE; });
  });
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  return ascendcl::Boundary("aclrtSetStreamOverflowSwitch", [=]() -> Status {
    if (flag > 1) return ascendcl::Refuse(ACL_ERROR_RT_PARAM_INVALID, "flag is %u; allowed are 0 and 1", flag);
    return ascendcl::UseStream(stream, [flag](ascendcl::Stream& found) { found.overflow_switch = flag; });
  });
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
  return ascendcl::ReadStream("aclrtGetStreamOverflowSwitch", stream, "flag", flag,
                              [](const ascendcl::Stream& found) { return found.overflow_switch; });
}
