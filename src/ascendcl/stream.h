// SPDX-License-Identifier: Apache-2.0
// A stream: an in-order queue of tasks and what is remembered of it. Guarded by the runtime's lock.
#ifndef CANOPY_ASCENDCL_STREAM_H_
#define CANOPY_ASCENDCL_STREAM_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <optional>
#include <string>

#include "acl/acl_rt.h"
#include "ascendcl/task.h"

namespace canopy::ascendcl {

struct Context;
struct Device;
struct Subscriber;

// Limits on cores by aclrtDevResLimitType: remembered only.
using ResLimits = std::array<std::optional<uint32_t>, 2>;

struct Stream {
  // Who it is.
  aclrtStream handle = nullptr;
  Context* context = nullptr;  // nullptr once destroyed
  aclrtContext context_handle = nullptr;
  Device* device = nullptr;
  uint32_t priority = 0;
  uint32_t flags = 0;
  uint32_t overflow_switch = 0;
  bool saturate = false;  // what overflow gives: as the device was set when the stream was made
  ResLimits limits;

  // The queue. A running task is no longer in it; a control task stays at the head until it has passed.
  Task* head = nullptr;
  Task* tail = nullptr;
  uint64_t submitted = 0;
  std::atomic<uint64_t> completed{0};  // written under the lock; a thread that spins reads it without
  bool busy = false;                   // a task runs, or a host call does
  bool blocked = false;                // the head is a wait for an event that is not done
  int64_t wait_deadline_ns = 0;        // of that wait, where `next_timed` links it
  Stream* next_timed = nullptr;

  // The first failure that no synchronise call has returned yet.
  aclError error = ACL_SUCCESS;
  std::string error_texts;
  bool stop_on_failure = false;
  bool stopped = false;  // work is dropped until the failure has been returned

  // Threads that wait for it. A destroyed stream is freed when nobody pins it and nothing of it runs.
  std::condition_variable changed;
  int waiters = 0;
  int pins = 0;

  // Links of the scheduler.
  bool ready = false;  // in the device's list
  Stream* ready_previous = nullptr;
  Stream* ready_next = nullptr;
  bool advancing = false;
  Stream* next_to_advance = nullptr;

  Subscriber* subscriber = nullptr;

  // Synchronise calls do not wait for streams that the program feeds for ever.
  bool never_synchronises() const {
    return (flags & (ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY)) != 0;
  }
  bool idle() const { return submitted == completed.load(std::memory_order_relaxed); }
};

// Frees the stream if it is destroyed, unpinned and at rest. REQUIRES the runtime's lock.
void MaybeFree(Stream& stream) noexcept;

// Keeps a stream from being freed while the runtime's lock is released. Made and destroyed under the lock.
class StreamPin {
 public:
  explicit StreamPin(Stream& stream) : stream_(stream) { ++stream_.pins; }
  ~StreamPin() {
    --stream_.pins;
    MaybeFree(stream_);
  }
  StreamPin(const StreamPin&) = delete;
  StreamPin& operator=(const StreamPin&) = delete;

 private:
  Stream& stream_;
};

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_STREAM_H_
