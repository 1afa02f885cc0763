// SPDX-License-Identifier: Apache-2.0
// What moves streams along. Work (ordinary tasks) is run by the dispatcher or by a thread that waits; control tasks
// pass in whatever thread clears their way. Everything here REQUIRES the runtime's lock, which functions that take it
// as an argument release while they run work or sleep.
#ifndef CANOPY_ASCENDCL_SCHEDULER_H_
#define CANOPY_ASCENDCL_SCHEDULER_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "acl/acl_base.h"

namespace canopy::ascendcl {

class Task;
struct Device;
struct EventRecord;
struct Stream;

// Appends the task; the stream owns it from here on.
void Enqueue(Stream& stream, Task& task) noexcept;

// The stream whose turn it is, taken off the ready list; nullptr: none. Small and brief work younger than a few
// microseconds is left to the thread that queued it, unless `hurry`, and what is not small to the end of what runs.
Stream* TakeReady(Device& device, int64_t now_ns, bool hurry) noexcept;

// Runs the work at the stream's head. REQUIRES: the stream is ready. It may be freed when this returns, unless pinned.
void RunHead(Stream& stream, std::unique_lock<std::mutex>& lock) noexcept;

// What was busy on the stream has ended, with this code and these texts.
void Complete(Stream& stream, aclError error, std::string&& texts) noexcept;

// Gives up waits whose time is over. NearestDeadline: kNever where no wait has a limit.
void ExpireWaits(Device& device, int64_t now_ns) noexcept;
int64_t NearestDeadline(const Device& device) noexcept;

// Takes the whole queue of a stream, whose control tasks thereby have passed. The caller calls Finished for each,
// without the lock.
Task* TakeQueue(Stream& stream) noexcept;
void FinishAll(Task* first) noexcept;

// For a child after a fork: empties the queue, leaking the tasks, and lets go of everything that other threads did.
void ForgetQueueAfterFork(Stream& stream) noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_SCHEDULER_H_
