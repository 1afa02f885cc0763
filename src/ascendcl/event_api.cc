// SPDX-License-Identifier: Apache-2.0
// Making, recording and waiting for events. A record on a stream that is idle is reached at once.
#include <memory>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/clock.h"
#include "ascendcl/control_task.h"
#include "ascendcl/runtime.h"
#include "ascendcl/scheduler.h"

namespace canopy::ascendcl {
namespace {

constexpr uint32_t kCombinableFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE;

base::Status CreateEvent(aclrtEvent* handle, uint32_t flags, bool extended) {
  if (handle == nullptr) return RefuseNull("event");
  const bool allowed = flags == ACL_EVENT_EXTERNAL || (flags != 0 && (flags & ~kCombinableFlags) == 0);
  if (!allowed) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID,
                  "flag is 0x%x; allowed are combinations of ACL_EVENT_SYNC (0x1), "
                  "ACL_EVENT_CAPTURE_STREAM_PROGRESS (0x2) and ACL_EVENT_TIME_LINE (0x8), or ACL_EVENT_EXTERNAL (0x20) "
                  "alone",
                  flags);
  }
  Runtime& runtime = Runtime::Get();
  const RuntimeLock lock(runtime.mutex);
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(CurrentContext(&context));
  auto event = std::make_unique<Event>();
  event->flags = flags;
  event->extended = extended;
  event->pending_waits = std::make_shared<int>(0);
  event->handle = runtime.events.Insert(event.get());
  if (event->handle == nullptr) {
    return Refuse(ACL_ERROR_RT_NO_EVENT_RESOURCE, "the process has %zu events, which is the limit",
                  runtime.events.size());
  }
  *handle = event.release()->handle;
  return base::Status();
}

base::Status DestroyEvent(aclrtEvent handle) {
  Runtime& runtime = Runtime::Get();
  const RuntimeLock lock(runtime.mutex);
  Event* event = nullptr;
  CANOPY_RETURN_IF_ERROR(FindEvent(handle, &event));
  runtime.events.Erase(handle);
  delete event;
  return base::Status();
}

// What events made with flags may not do without the right one.
base::Status CheckWaitable(const Event& event) {
  if (event.extended || (event.flags & (ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL)) != 0) return base::Status();
  return Refuse(ACL_ERROR_RT_PARAM_INVALID,
                "event was made with flag 0x%x; this use needs ACL_EVENT_SYNC (0x1) or aclrtCreateEventExWithFlag",
                event.flags);
}

base::Status CheckFlag(uint32_t flag) {
  if (flag <= 1) return base::Status();
  return Refuse(ACL_ERROR_RT_PARAM_INVALID, "flag is %u; allowed are 0 (default) and 1 (external)", flag);
}

base::Status RecordEvent(aclrtEvent event_handle, aclrtStream stream_handle, uint32_t flag) {
  const RuntimeLock lock(Runtime::Get().mutex);
  Event* event = nullptr;
  CANOPY_RETURN_IF_ERROR(FindEvent(event_handle, &event));
  CANOPY_RETURN_IF_ERROR(CheckFlag(flag));
  Stream* stream = nullptr;
  CANOPY_RETURN_IF_ERROR(FindStream(stream_handle, &stream));
  auto record = std::make_shared<EventRecord>();
  if (stream->idle()) {
    record->done = true;
    record->time_ns = NowNs();
    event->record = std::move(record);
    return base::Status();
  }
  record->stream = stream;
  auto task = std::make_unique<RecordTask>(record);
  event->record = std::move(record);
  Enqueue(*stream, *task.release());
  return base::Status();
}

base::Status ResetEvent(aclrtEvent event_handle, aclrtStream stream_handle) {
  const RuntimeLock lock(Runtime::Get().mutex);
  Event* event = nullptr;
  CANOPY_RETURN_IF_ERROR(FindEvent(event_handle, &event));
  if (event->extended) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "event was made by aclrtCreateEventExWithFlag, which needs no reset");
  }
  CANOPY_RETURN_IF_ERROR(CheckWaitable(*event));
  Stream* stream = nullptr;
  CANOPY_RETURN_IF_ERROR(FindStream(stream_handle, &stream));
  Enqueue(*stream, *new ResetTask(event_handle, event->record));
  return base::Status();
}

base::Status StreamWaitEvent(aclrtStream stream_handle, aclrtEvent event_handle, int64_t timeout_ms, uint32_t flag) {
  const RuntimeLock lock(Runtime::Get().mutex);
  Event* event = nullptr;
  CANOPY_RETURN_IF_ERROR(FindEvent(event_handle, &event));
  CANOPY_RETURN_IF_ERROR(CheckWaitable(*event));
  CANOPY_RETURN_IF_ERROR(CheckFlag(flag));
  if (timeout_ms < -1) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "timeout is %lld; allowed are -1 and 0 (for ever) and milliseconds",
                  static_cast<long long>(timeout_ms));
  }
  Stream* stream = nullptr;
  CANOPY_RETURN_IF_ERROR(FindStream(stream_handle, &stream));
  if (event->record == nullptr || event->record->done) return base::Status();
  const int64_t timeout_ns = timeout_ms > 0 ? timeout_ms * 1'000'000 : 0;
  auto task = std::make_unique<WaitTask>(event->record, event->pending_waits, timeout_ns);
  ++*event->pending_waits;
  Enqueue(*stream, *task.release());
  return base::Status();
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;

aclError aclrtCreateEvent(aclrtEvent* event) {
  return ascendcl::Boundary("aclrtCreateEvent",
                            [=] { return ascendcl::CreateEvent(event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE, false); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return ascendcl::Boundary("aclrtCreateEventWithFlag", [=] { return ascendcl::CreateEvent(event, flag, false); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return ascendcl::Boundary("aclrtCreateEventExWithFlag", [=] { return ascendcl::CreateEvent(event, flag, true); });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return ascendcl::Boundary("aclrtDestroyEvent", [=] { return ascendcl::DestroyEvent(event); });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return ascendcl::Boundary("aclrtRecordEvent",
                            [=] { return ascendcl::RecordEvent(event, stream, ACL_EVENT_RECORD_DEFAULT); });
}

aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag) {
  return ascendcl::Boundary("aclrtRecordEventWithFlag", [=] { return ascendcl::RecordEvent(event, stream, flag); });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return ascendcl::Boundary("aclrtResetEvent", [=] { return ascendcl::ResetEvent(event, stream); });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return ascendcl::Boundary("aclrtStreamWaitEvent", [=] { return ascendcl::StreamWaitEvent(stream, event, 0, 0); });
}

aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag) {
  return ascendcl::Boundary("aclrtStreamWaitEventWithFlag",
                            [=] { return ascendcl::StreamWaitEvent(stream, event, timeout, flag); });
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  return ascendcl::Boundary("aclrtStreamWaitEventWithTimeout",
                            [=] { return ascendcl::StreamWaitEvent(stream, event, timeout, 0); });
}
