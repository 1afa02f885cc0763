// SPDX-License-Identifier: Apache-2.0
// The threads that call the program's host functions. A function may block as long as it likes, so there are as many
// threads as functions running at once; idle ones are kept for the next.
#ifndef CANOPY_ASCENDCL_CALLBACK_THREADS_H_
#define CANOPY_ASCENDCL_CALLBACK_THREADS_H_

#include <condition_variable>
#include <mutex>

namespace canopy::ascendcl {

struct HostCallTask;

// Guarded by the runtime's lock.
struct CallbackThreads {
  HostCallTask* head = nullptr;
  HostCallTask* tail = nullptr;
  int queued = 0;
  int idle = 0;
  int alive = 0;
  int calling = 0;
  bool stopping = false;
  std::condition_variable wake;    // idle threads sleep on it
  std::condition_variable exited;  // a thread has gone
};

// Takes a call over from its stream (REQUIRES: task->stream is set and busy). False: no thread can be had.
bool StartHostCall(HostCallTask* task) noexcept;

// Ends the idle threads and waits until they are gone. Threads inside of a call end after it.
void StopCallbackThreads(std::unique_lock<std::mutex>& lock);

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_CALLBACK_THREADS_H_
