// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/process_life.h"

#include <pthread.h>

#include <cstdlib>
#include <new>

#include "ascendcl/clock.h"
#include "ascendcl/fork_locks.h"
#include "ascendcl/runtime.h"
#include "ascendcl/scheduler.h"
#include "base/local_time.h"

namespace canopy::ascendcl {
namespace {

void StopThreads(Dispatcher::Stop when) {
  Runtime& runtime = Runtime::Get();
  RuntimeLock lock(runtime.mutex);
  for (Device& device : runtime.devices) {
    if (when == Dispatcher::Stop::kNow) device.dispatcher.allowed = false;
    StopDispatcher(device, when, lock);
  }
  StopCallbackThreads(lock);
}

void AtExit() { StopThreads(Dispatcher::Stop::kNow); }

void BeforeFork() {
  ForkInit(ForkStep::kBefore);
  Runtime::Get().mutex.lock();
  ForkStreamConfigs(ForkStep::kBefore);
  ForkDataBuffers(ForkStep::kBefore);
  ForkMemoryBudget(ForkStep::kBefore);
  ForkBlocks(ForkStep::kBefore);
  ForkErrors(ForkStep::kBefore);
  base::LockLocalTime();
}

void Unlock(ForkStep step) {
  base::UnlockLocalTime();
  ForkErrors(step);
  ForkBlocks(step);
  ForkMemoryBudget(step);
  ForkDataBuffers(step);
  ForkStreamConfigs(step);
  Runtime::Get().mutex.unlock();
  ForkInit(step);
}

void AfterForkInParent() { Unlock(ForkStep::kInParent); }

// Condition variables may have sleepers of the parent inside; destroying one would wait for them for ever. So they are
// made anew in place.
void AfterForkInChild() {
  Runtime& runtime = Runtime::Get();
  ++runtime.forks;
  runtime.streams.ForEach([](Stream* stream) { ForgetQueueAfterFork(*stream); });
  runtime.events.ForEach([](Event* event) {
    *event->pending_waits = 0;
    if (event->record == nullptr || event->record->done) return;
    event->record->done = true;
    event->record->time_ns = NowNs();
    event->record->waiting = nullptr;
  });
  for (Device& device : runtime.devices) {
    device.first_ready = device.last_ready = device.first_timed = nullptr;
    device.computing = 0;
    const bool allowed = device.dispatcher.allowed;
    new (&device.dispatcher) Dispatcher;
    device.dispatcher.allowed = allowed;
  }
  for (auto& [thread_id, subscriber] : runtime.reports.subscribers) {
    const int streams = subscriber.streams;
    new (&subscriber) Subscriber;
    subscriber.thread_id = thread_id;
    subscriber.streams = streams;
  }
  new (&runtime.callbacks) CallbackThreads;
  Unlock(ForkStep::kInChild);
}

}  // namespace

void FollowProcess() {
  std::atexit(AtExit);
  pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
}

void RestThreads() { StopThreads(Dispatcher::Stop::kWhenIdle); }

}  // namespace canopy::ascendcl
