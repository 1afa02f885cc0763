// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/report_queue.h"

#include "ascendcl/boundary.h"
#include "ascendcl/clock.h"
#include "ascendcl/runtime.h"
#include "ascendcl/scheduler.h"
#include "ascendcl/thread_state.h"

namespace canopy::ascendcl {
namespace {

ReportTask* NextReport(const ReportTask& task) {
  return static_cast<ReportTask*>(TaskQueueAccess::Next(const_cast<ReportTask&>(task)));
}

ReportTask* TakeReport(Subscriber& subscriber) {
  ReportTask* task = subscriber.head;
  if (task == nullptr) return nullptr;
  subscriber.head = NextReport(*task);
  if (subscriber.head == nullptr) subscriber.tail = nullptr;
  return task;
}

void AppendReport(Subscriber& subscriber, ReportTask* task) {
  TaskQueueAccess::Next(*task) = nullptr;
  if (subscriber.tail != nullptr) {
    TaskQueueAccess::Next(*subscriber.tail) = task;
  } else {
    subscriber.head = task;
  }
  subscriber.tail = task;
}

void EraseIfUnused(ReportQueue& queue, uint64_t thread_id) {
  const auto found = queue.subscribers.find(thread_id);
  if (found != queue.subscribers.end() && found->second.streams == 0 && found->second.waiters == 0) {
    queue.subscribers.erase(found);
  }
}

aclError Call(const ReportTask& task) noexcept {
  try {
    task.function(task.user_data);
    return ACL_SUCCESS;
  } catch (...) {
    return ACL_ERROR_RT_INTERNAL_ERROR;
  }
}

// Calls one function. False: it forked, and this is the child.
bool RunReport(ReportTask* task, Runtime& runtime, RuntimeLock& lock) {
  const uint64_t forks = runtime.forks;
  ThreadState& thread = CurrentThread();
  const Stream* const outer = std::exchange(thread.calling_back, task->blocking ? task->stream : nullptr);
  lock.unlock();
  const aclError error = Call(*task);
  lock.lock();
  thread.calling_back = outer;
  if (runtime.forks != forks) return false;
  if (task->blocking) Complete(*task->stream, error, {});
  delete task;
  return true;
}

base::Status ProcessReports(int32_t timeout_ms) {
  if (timeout_ms < -1 || timeout_ms == 0) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d; allowed are -1 (for ever) and milliseconds above 0",
                  timeout_ms);
  }
  Runtime& runtime = Runtime::Get();
  const uint64_t self = static_cast<uint64_t>(pthread_self());
  RuntimeLock lock(runtime.mutex);
  const auto found = runtime.reports.subscribers.find(self);
  if (found == runtime.reports.subscribers.end()) {
    return Refuse(ACL_ERROR_RT_THREAD_SUBSCRIBE, "this thread has subscribed to no stream; call aclrtSubscribeReport");
  }
  Subscriber& subscriber = found->second;
  const int64_t deadline_ns = DeadlineAfter(timeout_ms);
  ++subscriber.waiters;
  while (subscriber.head == nullptr && subscriber.streams > 0 && NowNs() < deadline_ns) {
    if (deadline_ns == kNever) {
      subscriber.arrived.wait(lock);
    } else {
      subscriber.arrived.wait_until(lock, TimePoint(deadline_ns));
    }
  }
  bool called = false;
  while (ReportTask* task = TakeReport(subscriber)) {
    called = true;
    if (!RunReport(task, runtime, lock)) return base::Status();
  }
  --subscriber.waiters;
  EraseIfUnused(runtime.reports, self);
  if (called) return base::Status();
  return Refuse(ACL_ERROR_RT_REPORT_TIMEOUT, "no callback arrived within %d ms", timeout_ms);
}

}  // namespace

bool DeliverReport(Stream& stream, ReportTask* task) noexcept {
  if (stream.subscriber == nullptr) return false;
  task->stream = &stream;
  AppendReport(*stream.subscriber, task);
  stream.subscriber->arrived.notify_all();
  return true;
}

void Unsubscribe(Stream& stream) noexcept {
  Subscriber* const subscriber = std::exchange(stream.subscriber, nullptr);
  if (subscriber == nullptr) return;
  ReportTask* task = subscriber->head;
  subscriber->head = subscriber->tail = nullptr;
  while (task != nullptr) {
    ReportTask* const next = NextReport(*task);
    if (task->stream != &stream) {
      AppendReport(*subscriber, task);
    } else {
      const bool blocking = task->blocking;
      delete task;
      if (blocking) Complete(stream, ACL_SUCCESS, {});
    }
    task = next;
  }
  --subscriber->streams;
  subscriber->arrived.notify_all();
  EraseIfUnused(Runtime::Get().reports, subscriber->thread_id);
}

}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return ascendcl::Boundary("aclrtSubscribeReport", [=]() -> canopy::base::Status {
    ascendcl::Runtime& runtime = ascendcl::Runtime::Get();
    const ascendcl::RuntimeLock lock(runtime.mutex);
    ascendcl::Stream* found = nullptr;
    CANOPY_RETURN_IF_ERROR(ascendcl::FindStream(stream, &found));
    if (found->subscriber != nullptr) {
      return ascendcl::Refuse(ACL_ERROR_RT_STREAM_SUBSCRIBE, "thread %llu has subscribed to the stream already",
                              static_cast<unsigned long long>(found->subscriber->thread_id));
    }
    ascendcl::Subscriber& subscriber = runtime.reports.subscribers[threadId];
    subscriber.thread_id = threadId;
    ++subscriber.streams;
    found->subscriber = &subscriber;
    return canopy::base::Status();
  });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return ascendcl::Boundary("aclrtUnSubscribeReport", [=]() -> canopy::base::Status {
    const ascendcl::RuntimeLock lock(ascendcl::Runtime::Get().mutex);
    ascendcl::Stream* found = nullptr;
    CANOPY_RETURN_IF_ERROR(ascendcl::FindStream(stream, &found));
    if (found->subscriber == nullptr || found->subscriber->thread_id != threadId) {
      return ascendcl::Refuse(ACL_ERROR_RT_THREAD_SUBSCRIBE, "thread %llu has not subscribed to the stream",
                              static_cast<unsigned long long>(threadId));
    }
    ascendcl::Unsubscribe(*found);
    return canopy::base::Status();
  });
}

aclError aclrtProcessReport(int32_t timeout) {
  return ascendcl::Boundary("aclrtProcessReport", [=] { return ascendcl::ProcessReports(timeout); });
}
