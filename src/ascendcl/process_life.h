// SPDX-License-Identifier: Apache-2.0
// What the process does to the runtime: fork and exit.
//
// A child starts with the parent's devices, contexts, streams, events and memory, as they were, and with threads of its
// own as soon as it queues work. It loses what was queued or running: streams are empty and say 107022 at the next
// synchronise, events count as reached, calls for aclrtProcessReport are gone. What those tasks held is not freed.
#ifndef CANOPY_ASCENDCL_PROCESS_LIFE_H_
#define CANOPY_ASCENDCL_PROCESS_LIFE_H_

namespace canopy::ascendcl {

// Registers with fork and exit. Called once, by whoever makes the runtime.
void FollowProcess();

// Ends the library's threads, after the work that is ready. They come back when they are needed again.
void RestThreads();

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_PROCESS_LIFE_H_
