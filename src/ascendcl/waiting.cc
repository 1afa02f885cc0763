// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/waiting.h"

#include <algorithm>
#include <utility>

#include "ascendcl/boundary.h"
#include "ascendcl/clock.h"
#include "ascendcl/error_store.h"
#include "ascendcl/runtime.h"
#include "ascendcl/scheduler.h"
#include "ascendcl/spin.h"
#include "ascendcl/thread_state.h"

namespace canopy::ascendcl {
namespace {

constexpr int64_t kSpinNs = 20'000;

// Where no dispatcher can be had, whoever waits looks after the device this often.
constexpr int64_t kLookNs = 1'000'000;

// Runs something the goal may be waiting for. False: that is up to others. What is brief may take too long for
// a deadline.
bool Help(Stream& stream, int64_t deadline_ns, RuntimeLock& lock) {
  Device& device = *stream.device;
  const bool alone = device.dispatcher.state == Dispatcher::State::kNone;
  const bool brief_too = device.computing == 0 && deadline_ns == kNever;
  const TaskLength longest = alone ? TaskLength::kLong : brief_too ? TaskLength::kBrief : TaskLength::kSmall;
  if (stream.ready && stream.head->length <= longest) {
    RunHead(stream, lock);
    return true;
  }
  if (!alone) return false;
  const int64_t now_ns = NowNs();
  ExpireWaits(device, now_ns);
  Stream* other = TakeReady(device, now_ns, /*hurry=*/true);
  if (other != nullptr) RunHead(*other, lock);
  return other != nullptr;
}

void Spin(Stream& stream, int64_t deadline_ns, RuntimeLock& lock) {
  const uint64_t seen = stream.completed.load(std::memory_order_relaxed);
  lock.unlock();
  SpinUntil(std::min(deadline_ns, NowNs() + kSpinNs),
            [&] { return stream.completed.load(std::memory_order_acquire) != seen; });
  lock.lock();
}

void Sleep(Stream& stream, int64_t deadline_ns, RuntimeLock& lock) {
  Device& device = *stream.device;
  if (device.dispatcher.state == Dispatcher::State::kNone) {
    deadline_ns = std::min(deadline_ns, NowNs() + kLookNs);
  } else if (device.first_ready != nullptr) {
    WakeDispatcher(device, /*hurry=*/true);
  }
  ++stream.waiters;
  if (deadline_ns == kNever) {
    stream.changed.wait(lock);
  } else {
    stream.changed.wait_until(lock, TimePoint(deadline_ns));
  }
  --stream.waiters;
}

base::Status TakeFailure(Stream& stream) {
  if (stream.error == ACL_SUCCESS) return base::Status();
  const aclError error = std::exchange(stream.error, ACL_SUCCESS);
  stream.stopped = false;
  const bool explained = !stream.error_texts.empty();
  RefileErrors(std::exchange(stream.error_texts, {}));
  return Refuse(error, "something queued on the stream failed with code %d%s", error,
                explained ? "; the next message says why" : "");
}

}  // namespace

bool WaitGoal::Met(const Stream& stream) const {
  return record != nullptr ? record->done : stream.completed.load(std::memory_order_acquire) >= completed;
}

bool WaitFor(Stream& stream, const WaitGoal& goal, int64_t deadline_ns, RuntimeLock& lock) {
  bool may_spin = true;
  while (!goal.Met(stream)) {
    if (deadline_ns != kNever && NowNs() >= deadline_ns) {
      WakeDispatcher(*stream.device, /*hurry=*/true);
      return false;
    }
    if (Help(stream, deadline_ns, lock)) continue;
    if (may_spin && (stream.busy || stream.ready)) {
      may_spin = false;
      Spin(stream, deadline_ns, lock);
    } else {
      Sleep(stream, deadline_ns, lock);
    }
  }
  return true;
}

base::Status CheckNotOwnCallback(const Stream& stream) {
  if (CurrentThread().calling_back != &stream) return base::Status();
  return Refuse(ACL_ERROR_RT_PARAM_INVALID,
                "called from a host callback of the stream that it would wait for; callbacks may wait for other "
                "streams only");
}

base::Status Synchronize(Stream& stream, int64_t deadline_ns, RuntimeLock& lock) {
  CANOPY_RETURN_IF_ERROR(CheckNotOwnCallback(stream));
  const StreamPin pin(stream);
  if (WaitFor(stream, WaitGoal{stream.submitted, nullptr}, deadline_ns, lock)) return TakeFailure(stream);
  return Refuse(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "the stream had not finished within the time given");
}

}  // namespace canopy::ascendcl
