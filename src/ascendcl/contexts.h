// SPDX-License-Identifier: Apache-2.0
// Making and ending contexts and streams. Everything here REQUIRES the runtime's lock; what takes it as an argument
// releases it while it waits.
#ifndef CANOPY_ASCENDCL_CONTEXTS_H_
#define CANOPY_ASCENDCL_CONTEXTS_H_

#include <cstdint>
#include <mutex>

#include "base/status.h"

namespace canopy::ascendcl {

struct Context;
struct Device;
struct Stream;

// A context with its default stream.
base::Status NewContext(Device& device, Context** context);

// Ends the context: its handle and its streams' are dead at once; their work is waited for.
base::Status EndContext(Context& context, std::unique_lock<std::mutex>& lock);

// The device's default context, made if need be, becomes the thread's current one. Does not count a use.
base::Status UseDevice(Device& device, Context** context);

base::Status NewStream(Context& context, uint32_t priority, uint32_t flags, Stream** stream);

// Ends a stream after its work. REQUIRES: the thread is not inside of the stream's own host call.
void EndStream(Stream& stream, std::unique_lock<std::mutex>& lock);

// Ends a stream at once, dropping what has not begun.
void AbandonStream(Stream& stream, std::unique_lock<std::mutex>& lock);

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_CONTEXTS_H_
