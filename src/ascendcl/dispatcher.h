// SPDX-License-Identifier: Apache-2.0
// The one thread of a device that runs the work of its streams, so that parallel regions never compete. Started with
// the first context of the device, stopped when the last one ends; in a child after a fork, started by the first work.
//
// It is slow to take small and brief work: a thread that queues some usually waits for it next, and then runs it
// itself, faster than any hand-over. And it is slow to fall asleep for good: while calls keep coming it looks by itself
// now and then, so that queueing such work costs no system call. It does so rarely beside a thread that computes, but
// is woken for what is queued meanwhile.
#ifndef CANOPY_ASCENDCL_DISPATCHER_H_
#define CANOPY_ASCENDCL_DISPATCHER_H_

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace canopy::ascendcl {

struct Device;

// Guarded by the runtime's lock.
struct Dispatcher {
  enum class State { kNone, kRunning, kStopping };
  enum class Sleep { kAwake, kDozing, kAsleep };  // dozing: looks by itself before long
  enum class Stop { kNot, kWhenIdle, kNow };

  State state = State::kNone;
  Sleep sleep = Sleep::kAwake;
  Stop stop = Stop::kNot;
  bool allowed = true;              // false at process exit: then threads that wait run everything themselves
  bool hurry = false;               // somebody waits: take small and brief work at once
  int64_t last_ready_ns = 0;        // when a stream last became ready
  pthread_t thread{};               // while the state is not kNone
  std::condition_variable wake;     // what the dispatcher sleeps on
  std::condition_variable stopped;  // state left kStopping
};

// REQUIRES the runtime's lock. Whether there is a thread (it is started if need be); false where none can be.
bool EnsureDispatcher(Device& device) noexcept;

// REQUIRES the runtime's lock. Something for the dispatcher to do before its next look.
void WakeDispatcher(Device& device, bool hurry) noexcept;

// Ends the thread and waits for it: after the work that is ready, or after the task that runs.
void StopDispatcher(Device& device, Dispatcher::Stop when, std::unique_lock<std::mutex>& lock);

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_DISPATCHER_H_
