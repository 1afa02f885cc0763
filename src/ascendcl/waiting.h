// SPDX-License-Identifier: Apache-2.0
// How a thread waits for a stream: it runs what is small or brief itself, spins for a moment, then sleeps.
#ifndef CANOPY_ASCENDCL_WAITING_H_
#define CANOPY_ASCENDCL_WAITING_H_

#include <cstdint>
#include <mutex>

#include "base/status.h"

namespace canopy::ascendcl {

struct EventRecord;
struct Stream;

// What is waited for: a number of completed tasks, or a record of an event.
struct WaitGoal {
  uint64_t completed = 0;
  const EventRecord* record = nullptr;

  bool Met(const Stream& stream) const;
};

// REQUIRES the runtime's lock, which is released meanwhile, and a pinned stream. False: the deadline came first.
bool WaitFor(Stream& stream, const WaitGoal& goal, int64_t deadline_ns, std::unique_lock<std::mutex>& lock);

// Waits for all that is queued on the stream and takes its failure: 107000 from inside of its own host call, 507046
// when the deadline came first. REQUIRES as above; the stream need not be pinned.
base::Status Synchronize(Stream& stream, int64_t deadline_ns, std::unique_lock<std::mutex>& lock);

// 107000 where the thread is inside of a host call of this stream, and would wait for itself.
base::Status CheckNotOwnCallback(const Stream& stream);

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_WAITING_H_
