// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/contexts.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ascendcl/boundary.h"
#include "ascendcl/clock.h"
#include "ascendcl/report_queue.h"
#include "ascendcl/runtime.h"
#include "ascendcl/saturation.h"
#include "ascendcl/scheduler.h"
#include "ascendcl/thread_state.h"
#include "ascendcl/waiting.h"

namespace canopy::ascendcl {
namespace {

// No new work can come: the handle is dead and the context has forgotten the stream. REQUIRES: pinned.
void Retire(Stream& stream) {
  Runtime::Get().streams.Erase(stream.handle);
  if (stream.context != nullptr) std::erase(stream.context->streams, &stream);
  stream.context = nullptr;
}

}  // namespace

base::Status NewStream(Context& context, uint32_t priority, uint32_t flags, Stream** stream) {
  Runtime& runtime = Runtime::Get();
  context.streams.reserve(context.streams.size() + 1);
  auto created = std::make_unique<Stream>();
  created->context = &context;
  created->context_handle = context.handle;
  created->device = context.device;
  created->priority = priority;
  created->flags = flags;
  created->saturate = Saturates(*context.device);
  created->handle = runtime.streams.Insert(created.get());
  if (created->handle == nullptr) {
    return Refuse(ACL_ERROR_RT_NO_STREAM_RESOURCE, "the process has %zu streams, which is the limit",
                  runtime.streams.size());
  }
  context.streams.push_back(created.get());
  *stream = created.release();
  return base::Status();
}

void EndStream(Stream& stream, RuntimeLock& lock) {
  const StreamPin pin(stream);
  Retire(stream);
  WaitFor(stream, WaitGoal{stream.submitted, nullptr}, kNever, lock);
  Unsubscribe(stream);
}

void AbandonStream(Stream& stream, RuntimeLock& lock) {
  const StreamPin pin(stream);
  Retire(stream);
  Task* const dropped = TakeQueue(stream);
  Unsubscribe(stream);
  lock.unlock();
  FinishAll(dropped);
  lock.lock();
}

base::Status NewContext(Device& device, Context** context) {
  Runtime& runtime = Runtime::Get();
  auto created = std::make_unique<Context>();
  created->device = &device;
  created->handle = runtime.contexts.Insert(created.get());
  if (created->handle == nullptr) {
    return Refuse(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "the process has %zu contexts, which is the limit",
                  runtime.contexts.size());
  }
  base::Status status = NewStream(*created, 0, 0, &created->default_stream);
  if (!status.ok()) {
    runtime.contexts.Erase(created->handle);
    return status;
  }
  EnsureDispatcher(device);  // now, because making a thread allocates and queueing must not
  *context = created.release();
  return status;
}

base::Status EndContext(Context& context, RuntimeLock& lock) {
  for (const Stream* stream : context.streams) CANOPY_RETURN_IF_ERROR(CheckNotOwnCallback(*stream));
  std::vector<Stream*> streams;
  streams.swap(context.streams);
  Runtime::Get().contexts.Erase(context.handle);
  // All at once, before the first is waited for: nothing may be queued on one while the lock is released.
  for (Stream* stream : streams) {
    ++stream->pins;
    Retire(*stream);
  }
  delete &context;
  for (Stream* stream : streams) {
    EndStream(*stream, lock);
    --stream->pins;
    MaybeFree(*stream);
  }
  return base::Status();
}

base::Status UseDevice(Device& device, Context** context) {
  if (device.primary == nullptr) CANOPY_RETURN_IF_ERROR(NewContext(device, &device.primary));
  *context = device.primary;
  CurrentThread().context = device.primary->handle;
  return base::Status();
}

}  // namespace canopy::ascendcl
