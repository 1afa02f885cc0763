// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/callback_threads.h"

#include <utility>

#include "ascendcl/library_thread.h"
#include "ascendcl/runtime.h"
#include "ascendcl/scheduler.h"
#include "ascendcl/thread_state.h"

namespace canopy::ascendcl {
namespace {

HostCallTask* TakeCall(CallbackThreads& self) {
  HostCallTask* task = self.head;
  self.head = static_cast<HostCallTask*>(TaskQueueAccess::Next(*task));
  if (self.head == nullptr) self.tail = nullptr;
  --self.queued;
  return task;
}

// The program's function may do anything, and an exception must not pass.
aclError Call(const HostCallTask& task) noexcept {
  try {
    task.function(task.args);
    return ACL_SUCCESS;
  } catch (...) {
    return ACL_ERROR_RT_INTERNAL_ERROR;
  }
}

// False: the function forked, and this is the child.
bool RunCall(HostCallTask* task, Runtime& runtime, RuntimeLock& lock) {
  Stream& stream = *task->stream;
  const uint64_t forks = runtime.forks;
  ThreadState& thread = CurrentThread();
  thread.context = stream.context_handle;
  thread.calling_back = &stream;
  ++runtime.callbacks.calling;
  lock.unlock();
  const aclError error = Call(*task);
  lock.lock();
  if (runtime.forks != forks) return false;
  --runtime.callbacks.calling;
  thread.calling_back = nullptr;
  delete task;
  Complete(stream, error, {});
  return true;
}

void* Serve(void*) {
  pthread_setname_np(pthread_self(), "canopy-call");
  Runtime& runtime = Runtime::Get();
  CallbackThreads& self = runtime.callbacks;
  RuntimeLock lock(runtime.mutex);
  while (true) {
    if (self.head != nullptr) {
      if (!RunCall(TakeCall(self), runtime, lock)) return nullptr;
    } else if (self.stopping) {
      break;
    } else {
      ++self.idle;
      self.wake.wait(lock);
      --self.idle;
    }
  }
  --self.alive;
  self.exited.notify_all();
  return nullptr;
}

}  // namespace

bool StartHostCall(HostCallTask* task) noexcept {
  CallbackThreads& self = Runtime::Get().callbacks;
  if (self.queued + 1 > self.idle) {
    pthread_t thread;
    if (!StartLibraryThread(Serve, nullptr, &thread)) return false;
    pthread_detach(thread);
    ++self.alive;
  } else {
    self.wake.notify_one();
  }
  if (self.tail != nullptr) {
    TaskQueueAccess::Next(*self.tail) = task;
  } else {
    self.head = task;
  }
  self.tail = task;
  ++self.queued;
  return true;
}

void StopCallbackThreads(RuntimeLock& lock) {
  CallbackThreads& self = Runtime::Get().callbacks;
  self.stopping = true;
  self.wake.notify_all();
  self.exited.wait(lock, [&] { return self.alive <= self.calling; });
  self.stopping = false;
}

}  // namespace canopy::ascendcl
