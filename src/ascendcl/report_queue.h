// SPDX-License-Identifier: Apache-2.0
// Where aclrtLaunchCallback's calls wait for the thread that subscribed to their stream and comes for them with
// aclrtProcessReport.
#ifndef CANOPY_ASCENDCL_REPORT_QUEUE_H_
#define CANOPY_ASCENDCL_REPORT_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <map>

namespace canopy::ascendcl {

struct ReportTask;
struct Stream;

struct Subscriber {
  uint64_t thread_id = 0;
  int streams = 0;
  int waiters = 0;  // calls of aclrtProcessReport in progress
  ReportTask* head = nullptr;
  ReportTask* tail = nullptr;
  std::condition_variable arrived;
};

// Guarded by the runtime's lock.
struct ReportQueue {
  std::map<uint64_t, Subscriber> subscribers;  // by thread
};

// Everything below: REQUIRES the runtime's lock.

// Hands a call to the stream's subscriber. False: there is none any more.
bool DeliverReport(Stream& stream, ReportTask* task) noexcept;

// Ends the subscription of a stream and drops its calls that were not fetched.
void Unsubscribe(Stream& stream) noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_REPORT_QUEUE_H_
