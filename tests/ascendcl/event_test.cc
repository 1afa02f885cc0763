// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "tests/ascendcl/runtime_fixture.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // aclrtQueryEvent is still called by old programs

namespace canopy::ascendcl {
namespace {

class EventTest : public RuntimeTest {
 protected:
  static aclrtEvent NewEventWithFlag(uint32_t flag) {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEventWithFlag(&event, flag), ACL_SUCCESS) << RecentErrors();
    return event;
  }
  static aclrtEvent NewExtendedEvent(uint32_t flag = ACL_EVENT_SYNC) {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEventExWithFlag(&event, flag), ACL_SUCCESS) << RecentErrors();
    return event;
  }
  static aclrtEventRecordedStatus StatusOf(aclrtEvent event) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS) << RecentErrors();
    return status;
  }
};

TEST_F(EventTest, RefusesNullAndEveryHandleThatIsNoLivingEvent) {
  EXPECT_REFUSED(aclrtCreateEvent(nullptr), ACL_ERROR_INVALID_PARAM, "event");
  EXPECT_REFUSED(aclrtDestroyEvent(nullptr), ACL_ERROR_INVALID_PARAM, "event");
  EXPECT_REFUSED(aclrtRecordEvent(nullptr, nullptr), ACL_ERROR_INVALID_PARAM, "event");
  EXPECT_REFUSED(aclrtStreamWaitEvent(nullptr, nullptr), ACL_ERROR_INVALID_PARAM, "event");
  EXPECT_REFUSED(aclrtSynchronizeEvent(nullptr), ACL_ERROR_INVALID_PARAM, "event");
  aclrtEvent stale = NewEvent();
  ASSERT_EQ(aclrtDestroyEvent(stale), ACL_SUCCESS);
  std::vector<void*> handles(std::begin(kGarbage), std::end(kGarbage));
  handles.push_back(stale);
  handles.push_back(NewStream());
  for (void* handle : handles) {
    EXPECT_REFUSED(aclrtDestroyEvent(handle), ACL_ERROR_RT_INVALID_HANDLE, "event");
    EXPECT_REFUSED(aclrtRecordEvent(handle, nullptr), ACL_ERROR_RT_INVALID_HANDLE, "event");
    EXPECT_REFUSED(aclrtResetEvent(handle, nullptr), ACL_ERROR_RT_INVALID_HANDLE, "event");
    EXPECT_REFUSED(aclrtStreamWaitEvent(nullptr, handle), ACL_ERROR_RT_INVALID_HANDLE, "event");
    EXPECT_REFUSED(aclrtSynchronizeEvent(handle), ACL_ERROR_RT_INVALID_HANDLE, "event");
    aclrtEventRecordedStatus status;
    EXPECT_REFUSED(aclrtQueryEventStatus(handle, &status), ACL_ERROR_RT_INVALID_HANDLE, "event");
  }
  EXPECT_REFUSED(aclrtRecordEvent(NewEvent(), kGarbage[0]), ACL_ERROR_RT_INVALID_HANDLE, "stream");
  EXPECT_REFUSED(aclrtStreamWaitEvent(kGarbage[0], NewEvent()), ACL_ERROR_RT_INVALID_HANDLE, "stream");
  EXPECT_REFUSED(aclrtQueryEventStatus(NewEvent(), nullptr), ACL_ERROR_INVALID_PARAM, "status");
}

TEST_F(EventTest, IsMadeWithKnownFlagsOnly) {
  aclrtEvent event = nullptr;
  for (const uint32_t flag : {0x1U, 0x2U, 0x8U, 0xBU, 0x20U}) {
    EXPECT_EQ(aclrtCreateEventWithFlag(&event, flag), ACL_SUCCESS) << flag;
    EXPECT_EQ(aclrtCreateEventExWithFlag(&event, flag), ACL_SUCCESS) << flag;
  }
  for (const uint32_t flag : {0x0U, 0x4U, 0x21U, 0x40U, 0x100U}) {
    EXPECT_REFUSED(aclrtCreateEventWithFlag(&event, flag), ACL_ERROR_RT_PARAM_INVALID, "flag");
    EXPECT_REFUSED(aclrtCreateEventExWithFlag(&event, flag), ACL_ERROR_RT_PARAM_INVALID, "flag");
  }
  std::thread([] {
    aclrtEvent none = nullptr;
    EXPECT_REFUSED(aclrtCreateEvent(&none), ACL_ERROR_RT_CONTEXT_NULL, "context");
  }).join();
}

TEST_F(EventTest, StandsForWhatIsQueuedSoFar) {
  aclrtEvent event = NewEvent();
  EXPECT_EQ(StatusOf(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  Gate gate;
  QueueGate(nullptr, gate);
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  EXPECT_EQ(aclrtQueryEvent(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_STATUS_NOT_READY);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_EQ(aclrtQueryEvent(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_STATUS_COMPLETE);
}

TEST_F(EventTest, RecordedAnewStartsAnew) {
  aclrtEvent event = NewEvent();
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event), ACL_EVENT_RECORDED_STATUS_COMPLETE) << "an idle stream reaches it at once";
  Gate gate;
  QueueGate(nullptr, gate);
  ASSERT_EQ(aclrtRecordEventWithFlag(event, nullptr, ACL_EVENT_RECORD_EXTERNAL), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  EXPECT_REFUSED(aclrtRecordEventWithFlag(event, nullptr, 2), ACL_ERROR_RT_PARAM_INVALID, "flag");
  gate.Open();
}

TEST_F(EventTest, OrdersStreams) {
  aclrtStream first = NewStream();
  aclrtStream second = NewStream();
  aclrtEvent event = NewEvent();
  std::vector<int> order;
  Gate gate;
  QueueHostGate(first, gate);
  Queue(first, [&order] { return order.push_back(1), ACL_SUCCESS; });
  ASSERT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  Queue(
      second, [&order] { return order.push_back(2), ACL_SUCCESS; }, TaskLength::kSmall);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(second, 2), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(EventTest, WaitTakesTheRecordOfItsOwnTime) {
  aclrtStream first = NewStream();
  aclrtStream second = NewStream();
  aclrtEvent event = NewEvent();
  Gate early;
  Gate late;
  QueueHostGate(first, early);
  ASSERT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  QueueHostGate(first, late);
  ASSERT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  early.Open();
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS) << "the later record must not hold it";
  EXPECT_EQ(StatusOf(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  late.Open();
}

TEST_F(EventTest, NeverRecordedIsNotWaitedFor) {
  ASSERT_EQ(aclrtStreamWaitEvent(nullptr, NewEvent()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtSynchronizeEvent(NewEvent()), ACL_ERROR_RT_INTERNAL_ERROR, "never recorded");
  EXPECT_EQ(aclrtSynchronizeEvent(NewExtendedEvent()), ACL_SUCCESS);
}

TEST_F(EventTest, DestroyedWhilePendingStillServes) {
  aclrtStream first = NewStream();
  aclrtStream second = NewStream();
  aclrtEvent event = NewEvent();
  Gate gate;
  QueueHostGate(first, gate);
  ASSERT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
}

TEST_F(EventTest, OrdersStreamsOfDifferentDevices) {
  aclrtEvent event = NewEvent();
  Gate gate;
  std::vector<int> order;
  QueueGate(nullptr, gate);
  Queue(nullptr, [&order] { return order.push_back(1), ACL_SUCCESS; });
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(nullptr, event), ACL_SUCCESS);
  Queue(nullptr, [&order] { return order.push_back(2), ACL_SUCCESS; });
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

// A thread that waits for the event is woken though its stream only goes on to stand at the next one.
TEST_F(EventTest, IsReachedWhileItsStreamStandsAtTheNextWait) {
  aclrtStream stream = NewStream();
  aclrtStream other = NewStream();
  aclrtEvent reached = NewEvent();
  aclrtEvent later = NewEvent();
  Gate gate;
  Gate other_gate;
  QueueHostGate(stream, gate);
  ASSERT_EQ(aclrtRecordEvent(reached, stream), ACL_SUCCESS);
  QueueHostGate(other, other_gate);
  ASSERT_EQ(aclrtRecordEvent(later, other), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(stream, later), ACL_SUCCESS);
  std::future<aclError> waiter = std::async(std::launch::async, aclrtSynchronizeEvent, reached);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it sleeps by then, mostly
  gate.Open();
  EXPECT_EQ(waiter.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(StatusOf(later), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  other_gate.Open();
  EXPECT_EQ(waiter.get(), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

// A chain as long as this one must not be a recursion as deep.
TEST_F(EventTest, PassesThroughALongChainOfStreams) {
  constexpr int kStreams = 5000;
  Gate gate;
  aclrtStream previous = NewStream();
  QueueHostGate(previous, gate);
  for (int i = 0; i < kStreams; ++i) {
    aclrtEvent event = NewEvent();
    aclrtStream next = NewStream();
    ASSERT_EQ(aclrtRecordEvent(event, previous), ACL_SUCCESS);
    ASSERT_EQ(aclrtStreamWaitEvent(next, event), ACL_SUCCESS);
    ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    previous = next;
  }
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(previous), ACL_SUCCESS);
}

TEST_F(EventTest, ResetMakesItUnrecordedInStreamOrder) {
  aclrtEvent event = NewEvent();
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  Gate gate;
  QueueGate(nullptr, gate);
  ASSERT_EQ(aclrtResetEvent(event, nullptr), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event), ACL_EVENT_RECORDED_STATUS_COMPLETE) << "the reset has not been reached";
  gate.Open();
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
}

TEST_F(EventTest, ResetLeavesALaterRecordAlone) {
  aclrtEvent event = NewEvent();
  Gate gate;
  QueueGate(nullptr, gate);
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetEvent(event, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  gate.Open();
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
}

TEST_F(EventTest, UsesNeedTheirFlags) {
  aclrtEvent times = NewEventWithFlag(ACL_EVENT_TIME_LINE);
  EXPECT_REFUSED(aclrtStreamWaitEvent(nullptr, times), ACL_ERROR_RT_PARAM_INVALID, "ACL_EVENT_SYNC");
  EXPECT_REFUSED(aclrtResetEvent(times, nullptr), ACL_ERROR_RT_PARAM_INVALID, "ACL_EVENT_SYNC");
  aclrtEvent sync = NewEventWithFlag(ACL_EVENT_SYNC);
  ASSERT_EQ(aclrtRecordEvent(sync, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, sync), ACL_SUCCESS);
  float ms = 0;
  EXPECT_REFUSED(aclrtEventElapsedTime(&ms, sync, sync), ACL_ERROR_RT_PARAM_INVALID, "ACL_EVENT_TIME_LINE");
}

TEST_F(EventTest, ExtendedOneHasItsOwnRules) {
  aclrtEvent event = NewExtendedEvent();
  EXPECT_EQ(StatusOf(event), ACL_EVENT_RECORDED_STATUS_COMPLETE) << "complete before its first record";
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, NewExtendedEvent(ACL_EVENT_TIME_LINE)), ACL_SUCCESS);
  aclrtEventStatus status;
  aclrtEventWaitStatus wait_status;
  EXPECT_REFUSED(aclrtQueryEvent(event, &status), ACL_ERROR_RT_PARAM_INVALID, "aclrtQueryEventStatus");
  EXPECT_REFUSED(aclrtQueryEventWaitStatus(event, &wait_status), ACL_ERROR_RT_PARAM_INVALID, "aclrtQueryEventStatus");
  EXPECT_REFUSED(aclrtResetEvent(event, nullptr), ACL_ERROR_RT_PARAM_INVALID, "reset");
  Gate gate;
  QueueGate(nullptr, gate);
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
}

TEST_F(EventTest, TellsWhetherItsWaitsHavePassed) {
  aclrtStream first = NewStream();
  aclrtStream second = NewStream();
  aclrtEvent event = NewEvent();
  aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_RESERVED;
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE);
  Gate gate;
  QueueHostGate(first, gate);
  ASSERT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_NOT_READY);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE);
}

TEST_F(EventTest, SynchronizeHasATimeLimit) {
  aclrtEvent event = NewEvent();
  Gate gate;
  QueueGate(nullptr, gate);
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtSynchronizeEventWithTimeout(event, -2), ACL_ERROR_RT_PARAM_INVALID, "timeout");
  EXPECT_REFUSED(aclrtSynchronizeEventWithTimeout(event, 0), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "0 ms");
  EXPECT_REFUSED(aclrtSynchronizeEventWithTimeout(event, 3), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "3 ms");
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, -1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, 0), ACL_SUCCESS);
}

TEST_F(EventTest, PollingWithoutWaitingEndsByItself) {
  aclrtEvent event = NewEvent();
  Queue(
      nullptr, [] { return ACL_SUCCESS; }, TaskLength::kSmall);
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  while (aclrtSynchronizeEventWithTimeout(event, 0) != ACL_SUCCESS) std::this_thread::yield();
  Queue(
      nullptr, [] { return ACL_SUCCESS; }, TaskLength::kSmall);
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  while (status != ACL_STREAM_STATUS_COMPLETE) ASSERT_EQ(aclrtStreamQuery(nullptr, &status), ACL_SUCCESS);
  RecentErrors();
}

TEST_F(EventTest, WaitOfAStreamHasATimeLimit) {
  aclrtStream first = NewStream();
  aclrtStream second = NewStream();
  aclrtEvent event = NewEvent();
  Gate gate;
  QueueHostGate(first, gate);
  ASSERT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtStreamWaitEventWithTimeout(second, event, -2), ACL_ERROR_RT_PARAM_INVALID, "timeout");
  EXPECT_REFUSED(aclrtStreamWaitEventWithFlag(second, event, 1, 2), ACL_ERROR_RT_PARAM_INVALID, "flag");
  bool ran = false;
  ASSERT_EQ(aclrtStreamWaitEventWithTimeout(second, event, 3), ACL_SUCCESS);
  Queue(second, [&ran] { return ran = true, ACL_SUCCESS; });
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  EXPECT_TRUE(ran) << "the stream goes on";
  aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_RESERVED;
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE);
  ASSERT_EQ(aclrtStreamWaitEventWithFlag(second, event, 60000, ACL_EVENT_WAIT_EXTERNAL), ACL_SUCCESS);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
}

TEST_F(EventTest, MeasuresTimeBothWays) {
  aclrtEvent start = NewEvent();
  aclrtEvent end = NewEvent();
  float ms = 0;
  EXPECT_REFUSED(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_INTERNAL_ERROR, "startEvent");
  ASSERT_EQ(aclrtRecordEvent(start, nullptr), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_INTERNAL_ERROR, "endEvent");
  Gate gate;
  QueueGate(nullptr, gate);
  ASSERT_EQ(aclrtRecordEvent(end, nullptr), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "endEvent");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  gate.Open();
  ASSERT_EQ(aclrtSynchronizeEvent(end), ACL_SUCCESS);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_SUCCESS);
  EXPECT_GE(ms, 5);
  float reversed = 0;
  EXPECT_EQ(aclrtEventElapsedTime(&reversed, end, start), ACL_SUCCESS);
  EXPECT_EQ(reversed, -ms);
  uint64_t start_us = 0;
  uint64_t end_us = 0;
  EXPECT_EQ(aclrtEventGetTimestamp(start, &start_us), ACL_SUCCESS);
  EXPECT_EQ(aclrtEventGetTimestamp(end, &end_us), ACL_SUCCESS);
  EXPECT_GE(end_us, start_us + 5000);
  EXPECT_REFUSED(aclrtEventElapsedTime(nullptr, start, end), ACL_ERROR_INVALID_PARAM, "ms");
  EXPECT_REFUSED(aclrtEventElapsedTime(&ms, nullptr, end), ACL_ERROR_INVALID_PARAM, "startEvent");
  EXPECT_REFUSED(aclrtEventElapsedTime(&ms, start, kGarbage[1]), ACL_ERROR_RT_INVALID_HANDLE, "event");
  EXPECT_REFUSED(aclrtEventGetTimestamp(start, nullptr), ACL_ERROR_INVALID_PARAM, "timestamp");
}

}  // namespace
}  // namespace canopy::ascendcl
