// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "tests/ascendcl/runtime_fixture.h"

namespace canopy::ascendcl {
namespace {

class StreamTest : public RuntimeTest {};

TEST_F(StreamTest, RefusesNullAndEveryHandleThatIsNoLivingStream) {
  EXPECT_REFUSED(aclrtCreateStream(nullptr), ACL_ERROR_INVALID_PARAM, "stream");
  EXPECT_REFUSED(aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM, "stream");
  EXPECT_REFUSED(aclrtDestroyStreamForce(nullptr), ACL_ERROR_INVALID_PARAM, "stream");
  aclrtStream stale = NewStream();
  ASSERT_EQ(aclrtDestroyStream(stale), ACL_SUCCESS);
  std::vector<void*> handles(std::begin(kGarbage), std::end(kGarbage));
  handles.push_back(stale);
  handles.push_back(NewEvent());
  aclrtStreamStatus status;
  for (void* handle : handles) {
    EXPECT_REFUSED(aclrtDestroyStream(handle), ACL_ERROR_RT_INVALID_HANDLE, "stream");
    EXPECT_REFUSED(aclrtDestroyStreamForce(handle), ACL_ERROR_RT_INVALID_HANDLE, "stream");
    EXPECT_REFUSED(aclrtSynchronizeStream(handle), ACL_ERROR_RT_INVALID_HANDLE, "stream");
    EXPECT_REFUSED(aclrtStreamQuery(handle, &status), ACL_ERROR_RT_INVALID_HANDLE, "stream");
    TestTask task([] { return ACL_SUCCESS; }, TaskLength::kSmall);
    EXPECT_REFUSED(Submit(handle, &task), ACL_ERROR_RT_INVALID_HANDLE, "stream");
  }
}

TEST_F(StreamTest, NeedsAContext) {
  aclrtStream stream = NewStream();
  std::thread([stream] {
    aclrtStream other = nullptr;
    EXPECT_REFUSED(aclrtCreateStream(&other), ACL_ERROR_RT_CONTEXT_NULL, "context");
    EXPECT_REFUSED(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL, "context");
    EXPECT_REFUSED(aclrtSynchronizeStream(stream), ACL_ERROR_RT_CONTEXT_NULL, "context");
    TestTask task([] { return ACL_SUCCESS; }, TaskLength::kSmall);
    EXPECT_REFUSED(Submit(nullptr, &task), ACL_ERROR_RT_CONTEXT_NULL, "context");
  }).join();
}

TEST_F(StreamTest, OfAnotherContextIsRefused) {
  aclrtStream stream = NewStream();
  aclrtContext own = nullptr;
  ASSERT_EQ(aclrtCreateContext(&own, 0), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtDestroyStream(stream), ACL_ERROR_RT_STREAM_CONTEXT, "another context");
  TestTask task([] { return ACL_SUCCESS; }, TaskLength::kSmall);
  EXPECT_REFUSED(Submit(stream, &task), ACL_ERROR_RT_STREAM_CONTEXT, "another context");
  ASSERT_EQ(aclrtDestroyContext(own), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

// The mode used to be read from the device when work was made, whichever stream it was for.
TEST_F(StreamTest, KeepsTheOverflowModeThatItWasMadeUnder) {
  const auto saturates = [](aclrtStream stream) {
    class Asking final : public Task {
     public:
      aclError Run() noexcept override { return ACL_SUCCESS; }
      void Finished() noexcept override {}
    } task;
    EXPECT_EQ(Submit(stream, &task), ACL_SUCCESS) << RecentErrors();
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    return task.saturate;
  };
  aclrtStream before = NewStream();
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  aclrtStream after = NewStream();
  EXPECT_FALSE(saturates(before));
  EXPECT_FALSE(saturates(nullptr)) << "the default stream is as old as its context";
  EXPECT_TRUE(saturates(after));
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  EXPECT_TRUE(saturates(nullptr)) << "this default stream is younger";
  ASSERT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_SUCCESS);
  EXPECT_TRUE(saturates(after));
  EXPECT_FALSE(saturates(NewStream()));
}

TEST_F(StreamTest, DefaultOneEndsWithItsContextOnly) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCtxGetCurrentDefaultStream(&stream), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtDestroyStream(stream), ACL_ERROR_RT_PARAM_INVALID, "default stream");
}

TEST_F(StreamTest, RemembersPriorityFlagsAndSwitch) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStreamWithConfig(&stream, 3, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC), ACL_SUCCESS);
  uint32_t value = 0;
  EXPECT_EQ(aclrtStreamGetPriority(stream, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 3U);
  EXPECT_EQ(aclrtStreamGetFlags(stream, &value), ACL_SUCCESS);
  EXPECT_EQ(value, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC);
  aclrtStream low = nullptr;
  ASSERT_EQ(aclrtCreateStreamWithConfig(&low, 100, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamGetPriority(low, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 7U) << "the lowest there is";
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(stream, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetStreamOverflowSwitch(stream, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1U);
  EXPECT_REFUSED(aclrtSetStreamOverflowSwitch(stream, 2), ACL_ERROR_RT_PARAM_INVALID, "flag");
  EXPECT_REFUSED(aclrtSetStreamFailureMode(stream, 2), ACL_ERROR_RT_PARAM_INVALID, "mode");
  EXPECT_REFUSED(aclrtStreamGetPriority(stream, nullptr), ACL_ERROR_INVALID_PARAM, "priority");
  EXPECT_REFUSED(aclrtStreamGetFlags(stream, nullptr), ACL_ERROR_INVALID_PARAM, "flags");
  EXPECT_REFUSED(aclrtStreamGetId(stream, nullptr), ACL_ERROR_INVALID_PARAM, "streamId");
  EXPECT_REFUSED(aclrtGetStreamOverflowSwitch(stream, nullptr), ACL_ERROR_INVALID_PARAM, "flag");
}

TEST_F(StreamTest, HasAnIdOfItsOwn) {
  std::set<int32_t> ids;
  for (int i = 0; i < 20; ++i) {
    int32_t id = -1;
    ASSERT_EQ(aclrtStreamGetId(NewStream(), &id), ACL_SUCCESS);
    EXPECT_TRUE(ids.insert(id).second);
  }
  uint32_t before = 0;
  uint32_t after = 0;
  EXPECT_EQ(aclrtGetStreamAvailableNum(&before), ACL_SUCCESS);
  NewStream();
  EXPECT_EQ(aclrtGetStreamAvailableNum(&after), ACL_SUCCESS);
  EXPECT_EQ(after, before - 1);
  EXPECT_REFUSED(aclrtGetStreamAvailableNum(nullptr), ACL_ERROR_INVALID_PARAM, "streamCount");
}

TEST_F(StreamTest, IsMadeFromAConfiguration) {
  aclrtStreamConfigHandle* handle = aclrtCreateStreamConfigHandle();
  ASSERT_NE(handle, nullptr);
  const uint32_t priority = 5;
  const size_t flag = ACL_STREAM_FAST_SYNC;
  const size_t work_bytes = 100;
  void* work = nullptr;
  EXPECT_EQ(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_PRIORITY, &priority, sizeof(priority)), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, &flag, sizeof(flag)), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_WORK_SIZE, &work_bytes, sizeof(work_bytes)), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_WORK_ADDR_PTR, &work, sizeof(work)), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStreamV2(&stream, handle), ACL_SUCCESS);
  uint32_t value = 0;
  EXPECT_EQ(aclrtStreamGetPriority(stream, &value), ACL_SUCCESS);
  EXPECT_EQ(value, priority);
  EXPECT_EQ(aclrtStreamGetFlags(stream, &value), ACL_SUCCESS);
  EXPECT_EQ(value, flag);

  EXPECT_REFUSED(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, &flag, 4), ACL_ERROR_INVALID_PARAM, "valueSize");
  EXPECT_REFUSED(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, nullptr, 8), ACL_ERROR_INVALID_PARAM, "attrValue");
  EXPECT_REFUSED(aclrtSetStreamConfigOpt(handle, static_cast<aclrtStreamConfigAttr>(9), &flag, 8),
                 ACL_ERROR_INVALID_PARAM, "attr");
  EXPECT_REFUSED(aclrtCreateStreamV2(nullptr, handle), ACL_ERROR_INVALID_PARAM, "stream");
  EXPECT_REFUSED(aclrtCreateStreamV2(&stream, nullptr), ACL_ERROR_INVALID_PARAM, "handle");
  EXPECT_EQ(aclrtDestroyStreamConfigHandle(handle), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtDestroyStreamConfigHandle(handle), ACL_ERROR_RT_INVALID_HANDLE, "handle");
  EXPECT_REFUSED(aclrtDestroyStreamConfigHandle(nullptr), ACL_ERROR_INVALID_PARAM, "handle");
}

TEST_F(StreamTest, QueuesWithoutWaitingAndRunsInOrder) {
  aclrtStream stream = NewStream();
  Gate gate;
  std::vector<int> order;
  QueueGate(stream, gate);
  for (int i = 0; i < 100; ++i)
    Queue(
        stream, [&order, i] { return order.push_back(i), ACL_SUCCESS; }, LengthInTurn(i));
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  EXPECT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  EXPECT_TRUE(order.empty());
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
  EXPECT_REFUSED(aclrtStreamQuery(stream, nullptr), ACL_ERROR_INVALID_PARAM, "status");
}

TEST_F(StreamTest, ReturnsTheFirstFailureOnceAndRunsOn) {
  aclrtStream stream = NewStream();
  int ran = 0;
  Queue(stream, [] { return 111; });
  Queue(stream, [] { return 222; });
  Queue(stream, [&ran] { return ++ran, ACL_SUCCESS; });
  EXPECT_REFUSED(aclrtSynchronizeStream(stream), 111, "code 111");
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

TEST_F(StreamTest, TellsTheWaitingThreadWhyWorkFailed) {
  aclrtStream stream = NewStream();
  Queue(stream, [] {
    aclrtFree(nullptr);  // files a text in whatever thread runs this
    return 361001;
  });
  EXPECT_REFUSED(aclrtSynchronizeStream(stream), 361001, "aclrtFree: devPtr is a null pointer");
}

TEST_F(StreamTest, StopsAfterAFailureWhereAskedUntilItIsReturned) {
  aclrtStream stream = NewStream();
  ASSERT_EQ(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE), ACL_SUCCESS);
  std::atomic<int> ran{0};
  Queue(stream, [] { return 111; });
  Queue(stream, [&ran] { return ++ran, ACL_SUCCESS; });
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &ran),
            ACL_SUCCESS);
  aclrtEvent event = NewEvent();
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS) << "events pass, or who waits for them would hang";
  EXPECT_EQ(aclrtSynchronizeStream(stream), 111);
  EXPECT_EQ(ran, 0);
  Queue(stream, [&ran] { return ++ran, ACL_SUCCESS; });
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(ran, 1);
}

TEST_F(StreamTest, SynchronizeHasATimeLimit) {
  aclrtStream stream = NewStream();
  for (const int wrong : {0, -2}) {
    EXPECT_REFUSED(aclrtSynchronizeStreamWithTimeout(stream, wrong), ACL_ERROR_RT_PARAM_INVALID, "timeout");
  }
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 1), ACL_SUCCESS);
  Gate gate;
  QueueGate(stream, gate);
  EXPECT_REFUSED(aclrtSynchronizeStreamWithTimeout(stream, 3), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "time");
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, -1), ACL_SUCCESS);
}

TEST_F(StreamTest, DestroyWaitsForItsWork) {
  aclrtStream stream = NewStream();
  std::atomic<int> ran{0};
  for (int i = 0; i < 30; ++i)
    Queue(
        stream, [&ran] { return std::this_thread::yield(), ++ran, ACL_SUCCESS; }, LengthInTurn(i));
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(ran, 30);
}

// Counts what becomes of it.
struct Fate {
  std::atomic<int> ran{0};
  std::atomic<int> finished{0};
};
class FateTask : public Task {
 public:
  explicit FateTask(Fate* fate) : fate_(fate) {}
  aclError Run() noexcept override { return ++fate_->ran, ACL_SUCCESS; }
  void Finished() noexcept override {
    ++fate_->finished;
    delete this;
  }

 private:
  Fate* fate_;
};

TEST_F(StreamTest, ForcedDestroyDropsWhatHasNotBegunAndDoesNotWait) {
  aclrtStream stream = NewStream();
  aclrtStream other = NewStream();
  aclrtEvent event = NewEvent();
  Gate gate;
  Fate fate;
  QueueGate(stream, gate);
  gate.AwaitArrival();
  for (int i = 0; i < 10; ++i) ASSERT_EQ(Submit(stream, new FateTask(&fate)), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(other, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
  EXPECT_EQ(fate.ran, 0);
  EXPECT_EQ(fate.finished, 10);
  EXPECT_EQ(aclrtSynchronizeStream(other), ACL_SUCCESS) << "its events count as reached";
  EXPECT_REFUSED(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE, "stream");
  gate.Open();
}

TEST_F(StreamTest, EveryTaskIsFinishedOnce) {
  Fate fate;
  for (int i = 0; i < 50; ++i) ASSERT_EQ(Submit(nullptr, new FateTask(&fate)), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(fate.ran, 50);
  EXPECT_EQ(fate.finished, 50);
}

TEST_F(StreamTest, DestroyedWhileAnotherThreadWaitsForItIsNoCrash) {
  for (int round = 0; round < 50; ++round) {
    aclrtStream stream = NewStream();
    for (int i = 0; i < 5; ++i)
      Queue(
          stream, [] { return std::this_thread::yield(), ACL_SUCCESS; }, LengthInTurn(i));
    std::thread waiter([stream] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      const aclError error = aclrtSynchronizeStream(stream);
      EXPECT_TRUE(error == ACL_SUCCESS || error == ACL_ERROR_RT_INVALID_HANDLE) << error;
    });
    EXPECT_EQ(round % 2 == 0 ? aclrtDestroyStream(stream) : aclrtDestroyStreamForce(stream), ACL_SUCCESS);
    waiter.join();
  }
}

}  // namespace
}  // namespace canopy::ascendcl
