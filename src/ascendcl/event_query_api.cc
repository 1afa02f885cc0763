// SPDX-License-Identifier: Apache-2.0
// Asking events whether and when they were reached, and waiting for that.
#include <memory>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/clock.h"
#include "ascendcl/control_task.h"
#include "ascendcl/runtime.h"
#include "ascendcl/waiting.h"

namespace canopy::ascendcl {
namespace {

base::Status CheckNotExtended(const Event& event) {
  if (!event.extended) return base::Status();
  return Refuse(ACL_ERROR_RT_PARAM_INVALID,
                "event was made by aclrtCreateEventExWithFlag; ask such events with aclrtQueryEventStatus");
}

// An event that was never recorded counts as reached if it is an extended one.
bool Reached(const Event& event) {
  if (event.record == nullptr) return event.extended;
  if (event.record->done) return true;
  WakeDispatcher(*event.record->stream->device, /*hurry=*/true);  // whoever asks should not wait for its next look
  return false;
}

template <typename Status, typename Read>
base::Status Query(aclrtEvent handle, Status* status, bool extended_allowed, Read&& read) {
  if (handle == nullptr) return RefuseNull("event");
  if (status == nullptr) return RefuseNull("status");
  const RuntimeLock lock(Runtime::Get().mutex);
  Event* event = nullptr;
  CANOPY_RETURN_IF_ERROR(FindEvent(handle, &event));
  if (!extended_allowed) CANOPY_RETURN_IF_ERROR(CheckNotExtended(*event));
  *status = read(*event);
  return base::Status();
}

base::Status RefuseUnrecorded(const char* argument) {
  return Refuse(ACL_ERROR_RT_INTERNAL_ERROR, "%s was never recorded, or was reset; call aclrtRecordEvent first",
                argument);
}

base::Status SynchronizeEvent(aclrtEvent handle, int64_t timeout_ms) {
  if (handle == nullptr) return RefuseNull("event");
  if (timeout_ms < -1) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "timeout is %lld; allowed are -1 (for ever) and milliseconds from 0 on",
                  static_cast<long long>(timeout_ms));
  }
  const int64_t deadline_ns = DeadlineAfter(timeout_ms);
  RuntimeLock lock(Runtime::Get().mutex);
  Event* event = nullptr;
  CANOPY_RETURN_IF_ERROR(FindEvent(handle, &event));
  if (event->record == nullptr && !event->extended) return RefuseUnrecorded("event");
  if (Reached(*event)) return base::Status();
  const std::shared_ptr<EventRecord> record = event->record;
  Stream& stream = *record->stream;
  CANOPY_RETURN_IF_ERROR(CheckNotOwnCallback(stream));
  const StreamPin pin(stream);
  if (WaitFor(stream, WaitGoal{0, record.get()}, deadline_ns, lock)) return base::Status();
  return Refuse(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "the event was not reached within %lld ms",
                static_cast<long long>(timeout_ms));
}

base::Status TimeOf(aclrtEvent handle, const char* argument, int64_t* time_ns) {
  if (handle == nullptr) return RefuseNull(argument);
  Event* event = nullptr;
  CANOPY_RETURN_IF_ERROR(FindEvent(handle, &event));
  if ((event->flags & ACL_EVENT_TIME_LINE) == 0) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "%s was made with flag 0x%x; times need ACL_EVENT_TIME_LINE (0x8)",
                  argument, event->flags);
  }
  if (event->record == nullptr) return RefuseUnrecorded(argument);
  if (!Reached(*event)) {
    return Refuse(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "%s is recorded but not reached yet; synchronise first",
                  argument);
  }
  *time_ns = event->record->time_ns;
  return base::Status();
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return ascendcl::Boundary("aclrtQueryEvent", [=] {
    return ascendcl::Query(event, status, false, [](const ascendcl::Event& found) {
      return ascendcl::Reached(found) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    });
  });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return ascendcl::Boundary("aclrtQueryEventStatus", [=] {
    return ascendcl::Query(event, status, true, [](const ascendcl::Event& found) {
      return ascendcl::Reached(found) ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    });
  });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return ascendcl::Boundary("aclrtQueryEventWaitStatus", [=] {
    return ascendcl::Query(event, status, false, [](const ascendcl::Event& found) {
      return *found.pending_waits == 0 ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    });
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return ascendcl::Boundary("aclrtSynchronizeEvent", [=] { return ascendcl::SynchronizeEvent(event, -1); });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return ascendcl::Boundary("aclrtSynchronizeEventWithTimeout",
                            [=] { return ascendcl::SynchronizeEvent(event, timeout); });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return ascendcl::Boundary("aclrtEventElapsedTime", [=]() -> Status {
    if (ms == nullptr) return ascendcl::RefuseNull("ms");
    const ascendcl::RuntimeLock lock(ascendcl::Runtime::Get().mutex);
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    CANOPY_RETURN_IF_ERROR(ascendcl::TimeOf(startEvent, "startEvent", &start_ns));
    CANOPY_RETURN_IF_ERROR(ascendcl::TimeOf(endEvent, "endEvent", &end_ns));
    *ms = static_cast<float>(static_cast<double>(end_ns - start_ns) * 1e-6);
    return Status();
  });
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  return ascendcl::Boundary("aclrtEventGetTimestamp", [=]() -> Status {
    if (timestamp == nullptr) return ascendcl::RefuseNull("timestamp");
    const ascendcl::RuntimeLock lock(ascendcl::Runtime::Get().mutex);
    int64_t time_ns = 0;
    CANOPY_RETURN_IF_ERROR(ascendcl::TimeOf(event, "event", &time_ns));
    *timestamp = static_cast<uint64_t>(time_ns) / 1000;
    return Status();
  });
}
