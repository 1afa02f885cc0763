// SPDX-License-Identifier: Apache-2.0
// What a stream queues besides work: records of and waits for events, and calls of the program's functions. The
// scheduler handles them itself when they reach the head of their stream; Run is never called.
#ifndef CANOPY_ASCENDCL_CONTROL_TASK_H_
#define CANOPY_ASCENDCL_CONTROL_TASK_H_

#include <memory>

#include "acl/acl_rt.h"
#include "ascendcl/task.h"

namespace canopy::ascendcl {

struct Stream;
struct WaitTask;

// The scheduler's key to the queue's own fields of a task.
struct TaskQueueAccess {
  static Task*& Next(Task& task) { return task.next_; }
  static int64_t& QueuedNs(Task& task) { return task.queued_ns_; }
  static bool& Control(Task& task) { return task.control_; }
};

struct ControlTask : Task {
  enum class Kind { kRecord, kReset, kWait, kHostCall, kReport };

  explicit ControlTask(Kind task_kind) : kind(task_kind) { TaskQueueAccess::Control(*this) = true; }
  aclError Run() noexcept override { return ACL_SUCCESS; }
  void Finished() noexcept override { delete this; }

  const Kind kind;
};

// One record of an event. The event refers to its newest; tasks keep theirs, whatever becomes of the event.
struct EventRecord {
  bool done = false;
  int64_t time_ns = 0;          // when it was reached
  Stream* stream = nullptr;     // where it is queued; valid while not done
  WaitTask* waiting = nullptr;  // streams that stand at a wait for it
};

struct RecordTask : ControlTask {
  explicit RecordTask(std::shared_ptr<EventRecord> r) : ControlTask(Kind::kRecord), record(std::move(r)) {}
  const std::shared_ptr<EventRecord> record;
};

// Takes the record from its event, unless the event was recorded again meanwhile.
struct ResetTask : ControlTask {
  ResetTask(aclrtEvent e, std::shared_ptr<EventRecord> r) : ControlTask(Kind::kReset), event(e), record(std::move(r)) {}
  const aclrtEvent event;
  const std::shared_ptr<EventRecord> record;
};

struct WaitTask : ControlTask {
  WaitTask(std::shared_ptr<EventRecord> r, std::shared_ptr<int> p, int64_t timeout)
      : ControlTask(Kind::kWait), record(std::move(r)), pending(std::move(p)), timeout_ns(timeout) {}
  const std::shared_ptr<EventRecord> record;
  const std::shared_ptr<int> pending;  // the event's count of waits that have not passed
  const int64_t timeout_ns;            // counted from when the wait is reached; 0: none
  Stream* stream = nullptr;            // set while it stands in record->waiting
  WaitTask* next_waiting = nullptr;
};

// aclrtLaunchHostFunc.
struct HostCallTask : ControlTask {
  HostCallTask(aclrtHostFunc f, void* a) : ControlTask(Kind::kHostCall), function(f), args(a) {}
  const aclrtHostFunc function;
  void* const args;
  Stream* stream = nullptr;
};

// aclrtLaunchCallback.
struct ReportTask : ControlTask {
  ReportTask(aclrtCallback f, void* d, bool b) : ControlTask(Kind::kReport), function(f), user_data(d), blocking(b) {}
  const aclrtCallback function;
  void* const user_data;
  const bool blocking;       // the stream stands until the function has returned
  Stream* stream = nullptr;  // of a blocking one
};

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_CONTROL_TASK_H_
