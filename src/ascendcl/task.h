// SPDX-License-Identifier: Apache-2.0
// What the operators' door hands to a stream. A stream is an in-order asynchronous queue; the tasks of all streams of
// a device run one at a time, on the device's dispatcher or in a thread that waits for the stream, so that parallel
// regions never compete; only small ones, which open none, run beside others.
#ifndef CANOPY_ASCENDCL_TASK_H_
#define CANOPY_ASCENDCL_TASK_H_

#include <cstdint>

#include "acl/acl_base.h"
#include "base/export.h"

namespace canopy::ascendcl {

// From the shortest on.
enum class TaskLength : uint8_t {
  kSmall,  // as long as handing it over takes: a thread that waits may run it itself, whatever else runs
  kBrief,  // handing it over counts: a thread that waits may run it itself, where nothing else runs
  kLong,   // the dispatcher's
};

// Intrusive, so that queueing allocates nothing.
class CANOPY_EXPORT Task {
 public:
  virtual ~Task() = default;

  // Does the work. Called once; what it returns becomes the stream's asynchronous error when not 0.
  virtual aclError Run() noexcept = 0;

  // Called once after Run, or instead of it when the stream is abandoned. The task is the queue's until then.
  virtual void Finished() noexcept = 0;

  TaskLength length = TaskLength::kLong;

  // Submit's gift: whether overflow gives the greatest finite value, as the stream was made.
  bool saturate = false;

 private:
  friend struct TaskQueueAccess;
  Task* next_ = nullptr;
  int64_t queued_ns_ = 0;
  bool control_ = false;  // an event or a host call: the scheduler's own, see control_task.h
};

// Queues `task` on `stream` (nullptr: the default stream of the thread's current context). Returns 0, or the code for
// a missing context, a stale stream, a stream of another context, with the error filed; then the task stays the
// caller's.
CANOPY_EXPORT aclError Submit(aclrtStream stream, Task* task) noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_TASK_H_
