// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/dispatcher.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "ascendcl/clock.h"
#include "ascendcl/library_thread.h"
#include "ascendcl/runtime.h"
#include "ascendcl/scheduler.h"
#include "ascendcl/spin.h"

namespace canopy::ascendcl {
namespace {

constexpr int64_t kSpinNs = 20'000;
constexpr int64_t kDozeNs = 100'000;
constexpr int64_t kDozeBesideNs = 1'000'000;  // while somebody computes, who should not share the processor
constexpr int64_t kDozingNs = 2'000'000;      // without anything to do, before sleeping for good

void SleepUntil(Device& device, int64_t until_ns, Dispatcher::Sleep how, RuntimeLock& lock) {
  Dispatcher& self = device.dispatcher;
  self.sleep = how;
  if (until_ns == kNever) {
    self.wake.wait(lock);
  } else {
    self.wake.wait_until(lock, TimePoint(until_ns));
  }
  self.sleep = Dispatcher::Sleep::kAwake;
}

void Rest(Device& device, int64_t now_ns, int64_t last_work_ns, RuntimeLock& lock) {
  if (now_ns - last_work_ns < kSpinNs) {
    lock.unlock();
    SpinFor(1'000);
    lock.lock();
    return;
  }
  const int64_t deadline_ns = NearestDeadline(device);
  if (now_ns - std::max(last_work_ns, device.dispatcher.last_ready_ns) < kDozingNs) {
    const bool beside = device.computing > 0 && device.first_ready == nullptr;
    SleepUntil(device, std::min(deadline_ns, now_ns + (beside ? kDozeBesideNs : kDozeNs)), Dispatcher::Sleep::kDozing,
               lock);
  } else {
    SleepUntil(device, deadline_ns, Dispatcher::Sleep::kAsleep, lock);
  }
}

void* Dispatch(void* argument) {
  Device& device = *static_cast<Device*>(argument);
  char name[16];
  std::snprintf(name, sizeof(name), "canopy-dev%d", device.id);
  pthread_setname_np(pthread_self(), name);
  Dispatcher& self = device.dispatcher;
  RuntimeLock lock(Runtime::Get().mutex);
  int64_t last_work_ns = 0;
  while (self.stop != Dispatcher::Stop::kNow) {
    const int64_t now_ns = NowNs();
    ExpireWaits(device, now_ns);
    const bool hurry = std::exchange(self.hurry, false) || self.stop == Dispatcher::Stop::kWhenIdle;
    if (Stream* stream = TakeReady(device, now_ns, hurry)) {
      RunHead(*stream, lock);
      last_work_ns = NowNs();
    } else if (self.stop == Dispatcher::Stop::kWhenIdle && device.first_ready == nullptr) {
      break;
    } else {
      Rest(device, now_ns, last_work_ns, lock);
    }
  }
  return nullptr;
}

}  // namespace

bool EnsureDispatcher(Device& device) noexcept {
  Dispatcher& dispatcher = device.dispatcher;
  if (dispatcher.state != Dispatcher::State::kNone) return true;
  if (!dispatcher.allowed) return false;
  dispatcher.stop = Dispatcher::Stop::kNot;
  if (!StartLibraryThread(Dispatch, &device, &dispatcher.thread)) return false;
  dispatcher.state = Dispatcher::State::kRunning;
  return true;
}

void WakeDispatcher(Device& device, bool hurry) noexcept {
  Dispatcher& dispatcher = device.dispatcher;
  dispatcher.hurry |= hurry;
  if (dispatcher.sleep == Dispatcher::Sleep::kAwake) return;
  dispatcher.sleep = Dispatcher::Sleep::kAwake;  // one system call wakes it, however much is queued before it runs
  dispatcher.wake.notify_one();
}

void StopDispatcher(Device& device, Dispatcher::Stop when, RuntimeLock& lock) {
  Dispatcher& dispatcher = device.dispatcher;
  if (dispatcher.state == Dispatcher::State::kStopping) {
    dispatcher.stopped.wait(lock, [&] { return dispatcher.state != Dispatcher::State::kStopping; });
    return;
  }
  if (dispatcher.state == Dispatcher::State::kNone) return;
  dispatcher.state = Dispatcher::State::kStopping;
  dispatcher.stop = when;
  dispatcher.wake.notify_one();
  lock.unlock();
  pthread_join(dispatcher.thread, nullptr);
  lock.lock();
  dispatcher.state = Dispatcher::State::kNone;
  dispatcher.stopped.notify_all();
  if (device.first_ready != nullptr) EnsureDispatcher(device);  // queued while it stopped
}

}  // namespace canopy::ascendcl
