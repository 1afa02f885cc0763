// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/scheduler.h"

#include <new>
#include <utility>

#include "ascendcl/clock.h"
#include "ascendcl/error_store.h"
#include "ascendcl/runtime.h"

namespace canopy::ascendcl {
namespace {

using Access = TaskQueueAccess;

// How long small and brief work is left to the thread that queued it. A call that queues and one that waits lie a few
// microseconds apart.
constexpr int64_t kPatienceNs = 10'000;

// Streams whose head may have come free. A list, so that a chain of streams that wait for each other is no recursion.
class Worklist {
 public:
  void Add(Stream& stream) {
    if (stream.advancing) return;
    stream.advancing = true;
    stream.next_to_advance = first_;
    first_ = &stream;
  }
  Stream* Take() {
    Stream* stream = first_;
    if (stream == nullptr) return nullptr;
    first_ = stream->next_to_advance;
    stream->advancing = false;
    return stream;
  }

 private:
  Stream* first_ = nullptr;
};

bool IsSoonDone(const Task& task) { return task.length != TaskLength::kLong; }

void RemoveReady(Stream& stream) {
  if (!stream.ready) return;
  Device& device = *stream.device;
  (stream.ready_previous != nullptr ? stream.ready_previous->ready_next : device.first_ready) = stream.ready_next;
  (stream.ready_next != nullptr ? stream.ready_next->ready_previous : device.last_ready) = stream.ready_previous;
  stream.ready_previous = stream.ready_next = nullptr;
  stream.ready = false;
}

void MakeReady(Stream& stream) {
  Device& device = *stream.device;
  if (!stream.ready) {
    stream.ready = true;
    stream.ready_previous = device.last_ready;
    (device.last_ready != nullptr ? device.last_ready->ready_next : device.first_ready) = &stream;
    device.last_ready = &stream;
  }
  Dispatcher& dispatcher = device.dispatcher;
  dispatcher.last_ready_ns = std::max(dispatcher.last_ready_ns, Access::QueuedNs(*stream.head));
  const bool looks_soon = dispatcher.sleep != Dispatcher::Sleep::kAsleep && device.computing == 0;
  if (EnsureDispatcher(device) && !(looks_soon && IsSoonDone(*stream.head))) WakeDispatcher(device, false);
  if (stream.waiters > 0) stream.changed.notify_all();
}

Task* PopHead(Stream& stream) {
  Task* task = stream.head;
  stream.head = Access::Next(*task);
  if (stream.head == nullptr) stream.tail = nullptr;
  Access::Next(*task) = nullptr;
  return task;
}

void CountCompleted(Stream& stream) { stream.completed.fetch_add(1, std::memory_order_release); }

void KeepFailure(Stream& stream, aclError error, std::string&& texts) {
  if (error == ACL_SUCCESS || stream.error != ACL_SUCCESS) return;
  stream.error = error;
  stream.error_texts = std::move(texts);
  stream.stopped = stream.stop_on_failure;
}

void Unblock(Stream& stream) {
  stream.blocked = false;
  for (Stream** link = &stream.device->first_timed; *link != nullptr; link = &(*link)->next_timed) {
    if (*link == &stream) {
      *link = stream.next_timed;
      stream.next_timed = nullptr;
      return;
    }
  }
}

void Block(Stream& stream, WaitTask& wait) {
  stream.blocked = true;
  wait.stream = &stream;
  wait.next_waiting = wait.record->waiting;
  wait.record->waiting = &wait;
  if (wait.timeout_ns == 0) return;
  stream.wait_deadline_ns = NowNs() + wait.timeout_ns;
  stream.next_timed = stream.device->first_timed;
  stream.device->first_timed = &stream;
  if (EnsureDispatcher(*stream.device)) WakeDispatcher(*stream.device, false);
}

// The wait no longer stands in its record's list.
void LeaveRecord(WaitTask& wait) {
  for (WaitTask** link = &wait.record->waiting; *link != nullptr; link = &(*link)->next_waiting) {
    if (*link == &wait) {
      *link = wait.next_waiting;
      return;
    }
  }
}

void FinishRecord(EventRecord& record, Worklist& more) {
  record.done = true;
  record.time_ns = NowNs();
  while (record.waiting != nullptr) {
    WaitTask* wait = std::exchange(record.waiting, record.waiting->next_waiting);
    Unblock(*wait->stream);
    more.Add(*wait->stream);
  }
}

void FinishReset(const ResetTask& reset) {
  Event* event = Runtime::Get().events.Find(reset.event);
  if (event != nullptr && event->record == reset.record) event->record.reset();
}

// Hands a call of the program's over. REQUIRES: it is off the queue. False: it could not be, and is gone.
bool HandOver(Stream& stream, ControlTask* task) {
  const bool host_call = task->kind == ControlTask::Kind::kHostCall;
  const bool holds_stream = host_call || static_cast<ReportTask*>(task)->blocking;
  stream.busy = holds_stream;
  if (host_call) {
    static_cast<HostCallTask*>(task)->stream = &stream;
    if (StartHostCall(static_cast<HostCallTask*>(task))) return true;
    KeepFailure(stream, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, {});
  } else {
    if (holds_stream) static_cast<ReportTask*>(task)->stream = &stream;
    if (DeliverReport(stream, static_cast<ReportTask*>(task))) {
      if (!holds_stream) CountCompleted(stream);
      return true;
    }
    KeepFailure(stream, ACL_ERROR_RT_STREAM_NO_CB_REG, {});
  }
  stream.busy = false;
  CountCompleted(stream);
  delete task;
  return false;
}

// Takes a control task that has passed off the queue.
void Pass(Stream& stream) {
  delete PopHead(stream);
  CountCompleted(stream);
}

// The control task at the head passes, or is handed over. False: it is a wait, and the stream stands at it.
bool AdvanceControl(Stream& stream, Worklist& more) {
  auto* task = static_cast<ControlTask*>(stream.head);
  switch (task->kind) {
    case ControlTask::Kind::kRecord:
      FinishRecord(*static_cast<RecordTask*>(task)->record, more);
      break;
    case ControlTask::Kind::kReset:
      FinishReset(*static_cast<ResetTask*>(task));
      break;
    case ControlTask::Kind::kWait: {
      auto* wait = static_cast<WaitTask*>(task);
      if (!wait->record->done) {
        if (!stream.blocked) Block(stream, *wait);
        return false;
      }
      --*wait->pending;
      break;
    }
    case ControlTask::Kind::kHostCall:
    case ControlTask::Kind::kReport:
      if (stream.stopped) break;
      HandOver(stream, static_cast<ControlTask*>(PopHead(stream)));
      return true;
  }
  Pass(stream);
  return true;
}

void AdvanceOne(Stream& stream, Worklist& more) {
  while (!stream.busy && stream.head != nullptr) {
    if (!Access::Control(*stream.head)) {
      MakeReady(stream);
      break;
    }
    if (!AdvanceControl(stream, more)) break;
  }
  // Wherever it stands now: what a thread waits for may be among what has passed.
  if (stream.waiters > 0) stream.changed.notify_all();
}

void Drain(Worklist& list) {
  while (Stream* stream = list.Take()) AdvanceOne(*stream, list);
}

void Advance(Stream& stream) {
  Worklist list;
  list.Add(stream);
  Drain(list);
}

}  // namespace

void Enqueue(Stream& stream, Task& task) noexcept {
  Access::Next(task) = nullptr;
  Access::QueuedNs(task) = NowNs();
  (stream.tail != nullptr ? Access::Next(*stream.tail) : stream.head) = &task;
  stream.tail = &task;
  ++stream.submitted;
  if (stream.head == &task && !stream.busy) Advance(stream);
}

Stream* TakeReady(Device& device, int64_t now_ns, bool hurry) noexcept {
  for (Stream* stream = device.first_ready; stream != nullptr; stream = stream->ready_next) {
    const Task& task = *stream->head;
    if (IsSoonDone(task) && !hurry && now_ns - Access::QueuedNs(*stream->head) < kPatienceNs) continue;
    if (task.length != TaskLength::kSmall && device.computing > 0) continue;
    RemoveReady(*stream);
    return stream;
  }
  return nullptr;
}

void RunHead(Stream& stream, RuntimeLock& lock) noexcept {
  RemoveReady(stream);
  Task* task = PopHead(stream);
  stream.busy = true;
  const bool dropped = stream.stopped, small = task->length == TaskLength::kSmall;
  Device& device = *stream.device;
  if (!small) ++device.computing;
  lock.unlock();
  const aclError error = dropped ? ACL_SUCCESS : task->Run();
  std::string texts;
  if (error != ACL_SUCCESS) {
    try {
      texts = TakeErrors();
    } catch (...) {  // out of memory: the code alone has to do
    }
  }
  task->Finished();
  lock.lock();
  Complete(stream, error, std::move(texts));
  if (small) return;
  --device.computing;
  if (device.first_ready != nullptr) WakeDispatcher(device, false);  // it may have left work to the end of this
}

void Complete(Stream& stream, aclError error, std::string&& texts) noexcept {
  KeepFailure(stream, error, std::move(texts));
  stream.busy = false;
  CountCompleted(stream);
  Advance(stream);
  MaybeFree(stream);
}

void ExpireWaits(Device& device, int64_t now_ns) noexcept {
  Worklist late;
  for (Stream* stream = device.first_timed; stream != nullptr;) {
    Stream* next = stream->next_timed;
    if (stream->wait_deadline_ns <= now_ns) {
      auto* wait = static_cast<WaitTask*>(stream->head);
      Unblock(*stream);
      LeaveRecord(*wait);
      --*wait->pending;
      KeepFailure(*stream, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, {});
      Pass(*stream);
      late.Add(*stream);
    }
    stream = next;
  }
  Drain(late);
}

int64_t NearestDeadline(const Device& device) noexcept {
  int64_t nearest = kNever;
  for (const Stream* stream = device.first_timed; stream != nullptr; stream = stream->next_timed) {
    nearest = std::min(nearest, stream->wait_deadline_ns);
  }
  return nearest;
}

Task* TakeQueue(Stream& stream) noexcept {
  Task* first = nullptr;
  Task** link = &first;
  Worklist more;
  RemoveReady(stream);
  if (stream.blocked) {
    Unblock(stream);
    LeaveRecord(*static_cast<WaitTask*>(stream.head));
  }
  while (stream.head != nullptr) {
    if (Access::Control(*stream.head)) {
      auto* task = static_cast<ControlTask*>(stream.head);
      if (task->kind == ControlTask::Kind::kRecord) FinishRecord(*static_cast<RecordTask*>(task)->record, more);
      if (task->kind == ControlTask::Kind::kReset) FinishReset(*static_cast<ResetTask*>(task));
      if (task->kind == ControlTask::Kind::kWait) --*static_cast<WaitTask*>(task)->pending;
      Pass(stream);
    } else {
      *link = PopHead(stream);
      link = &Access::Next(**link);
      CountCompleted(stream);
    }
  }
  Drain(more);
  if (stream.waiters > 0) stream.changed.notify_all();
  return first;
}

void FinishAll(Task* first) noexcept {
  while (first != nullptr) {
    Task* next = std::exchange(Access::Next(*first), nullptr);
    first->Finished();
    first = next;
  }
}

void MaybeFree(Stream& stream) noexcept {
  if (stream.context == nullptr && stream.pins == 0 && !stream.busy && stream.head == nullptr) delete &stream;
}

void ForgetQueueAfterFork(Stream& stream) noexcept {
  if (!stream.idle() && stream.error == ACL_SUCCESS) stream.error = ACL_ERROR_RT_DEVICE_TASK_ABORT;
  stream.completed = stream.submitted;
  stream.head = stream.tail = nullptr;
  stream.busy = stream.blocked = stream.ready = stream.stopped = false;
  stream.next_timed = stream.ready_previous = stream.ready_next = nullptr;
  stream.waiters = stream.pins = 0;
  // The old one may have sleepers of the parent inside: destroying it would wait for them for ever.
  new (&stream.changed) std::condition_variable;
}

}  // namespace canopy::ascendcl
