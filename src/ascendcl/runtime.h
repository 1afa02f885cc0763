// SPDX-License-Identifier: Apache-2.0
// The state of the runtime: devices, contexts, streams, events, behind one lock. The lock is held for moments only,
// never while work runs or the program is called. One lock, because an event ties streams of all devices together and
// because a fork has to find everything consistent.
#ifndef CANOPY_ASCENDCL_RUNTIME_H_
#define CANOPY_ASCENDCL_RUNTIME_H_

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "acl/acl_rt.h"
#include "ascendcl/callback_threads.h"
#include "ascendcl/control_task.h"
#include "ascendcl/dispatcher.h"
#include "ascendcl/handle_table.h"
#include "ascendcl/report_queue.h"
#include "ascendcl/stream.h"
#include "base/status.h"

namespace canopy::ascendcl {

struct Context {
  aclrtContext handle = nullptr;
  Device* device = nullptr;
  Stream* default_stream = nullptr;
  std::vector<Stream*> streams;                     // the default stream among them
  std::array<std::optional<int64_t>, 3> options{};  // by aclSysParamOpt
};

struct Event {
  aclrtEvent handle = nullptr;
  uint32_t flags = 0;
  bool extended = false;                // made by aclrtCreateEventExWithFlag
  std::shared_ptr<EventRecord> record;  // the newest; nullptr: never recorded, or reset
  std::shared_ptr<int> pending_waits;
};

struct Device {
  explicit Device(int device_id) : id(device_id) {}

  const int id;
  uint32_t uses = 0;           // aclrtSetDevice less aclrtResetDevice
  Context* primary = nullptr;  // while in use
  std::optional<aclrtFloatOverflowMode> overflow_mode;
  ResLimits limits;
  Stream* first_ready = nullptr;  // streams whose head is work that may run, in turn
  Stream* last_ready = nullptr;
  int computing = 0;              // tasks that run and are not small
  Stream* first_timed = nullptr;  // streams that stand at a wait with a time limit
  Dispatcher dispatcher;
};

using RuntimeLock = std::unique_lock<std::mutex>;

struct Runtime {
  static constexpr uint32_t kMaxStreams = 1U << 16;

  static Runtime& Get();  // never destroyed: threads may use it while the process exits

  std::mutex mutex;
  std::deque<Device> devices;
  HandleTable<Context> contexts{0x5C01};
  HandleTable<Stream> streams{0x5C02, kMaxStreams};
  HandleTable<Event> events{0x5C03};
  int default_device = -1;  // aclInit's; threads without a context take its default context
  CallbackThreads callbacks;
  ReportQueue reports;
  uint64_t forks = 0;  // a thread that finds it changed woke up in a child

 private:
  Runtime();
};

// Everything below: REQUIRES the runtime's lock.

// 107001 for a device that does not exist.
base::Status FindDevice(int64_t device_id, Device** device);
// 107002 where the thread has none.
base::Status CurrentContext(Context** context);
// The stream, or the default stream of the current context for nullptr: 107002, 107017, 107003.
base::Status FindStream(aclrtStream handle, Stream** stream);
// The event: 100000, 107017.
base::Status FindEvent(aclrtEvent handle, Event** event);

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_RUNTIME_H_
