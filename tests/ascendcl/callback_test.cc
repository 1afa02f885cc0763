// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pthread.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/ascendcl/runtime_fixture.h"

namespace canopy::ascendcl {
namespace {

// Calls a std::function that lives until the stream has called it.
void CallFunction(void* function) { (*static_cast<std::function<void()>*>(function))(); }

uint64_t ThisThread() { return static_cast<uint64_t>(pthread_self()); }

class HostCallTest : public RuntimeTest {};

TEST_F(HostCallTest, RunsInStreamOrderInAnotherThread) {
  std::vector<int> order;
  std::thread::id caller;
  std::function<void()> call = [&] {
    order.push_back(2);
    caller = std::this_thread::get_id();
  };
  Queue(nullptr, [&order] { return order.push_back(1), ACL_SUCCESS; });
  ASSERT_EQ(aclrtLaunchHostFunc(nullptr, CallFunction, &call), ACL_SUCCESS);
  Queue(
      nullptr, [&order] { return order.push_back(3), ACL_SUCCESS; }, TaskLength::kSmall);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_NE(caller, std::this_thread::get_id());
}

TEST_F(HostCallTest, ThatBlocksHoldsItsOwnStreamOnly) {
  Gate gate;
  std::vector<aclrtStream> held;
  for (int i = 0; i < 5; ++i) {
    held.push_back(NewStream());
    QueueHostGate(held.back(), gate);
  }
  bool ran = false;
  Queue(nullptr, [&ran] { return ran = true, ACL_SUCCESS; });
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_TRUE(ran);
  gate.Open();
  for (aclrtStream stream : held) EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

TEST_F(HostCallTest, MayCallTheLibraryAndWaitForOtherStreams) {
  aclrtStream stream = NewStream();
  aclrtStream other = NewStream();
  Gate gate;
  QueueHostGate(other, gate);
  int value = 0;
  std::function<void()> call = [&] {
    int32_t device = -1;
    EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
    EXPECT_EQ(device, 0) << "the stream's context is current";
    void* memory = nullptr;
    EXPECT_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
    Queue(other, [&value] { return ++value, ACL_SUCCESS; });
    gate.Open();
    EXPECT_EQ(aclrtSynchronizeStream(other), ACL_SUCCESS);
    Queue(stream, [&value] { return ++value, ACL_SUCCESS; });
  };
  ASSERT_EQ(aclrtLaunchHostFunc(stream, CallFunction, &call), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(value, 2);
}

TEST_F(HostCallTest, IsRefusedToWaitForItself) {
  aclrtStream stream = NewStream();
  std::function<void()> call = [stream] {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
    EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
    EXPECT_REFUSED(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID, "callback");
    EXPECT_REFUSED(aclrtSynchronizeEvent(event), ACL_ERROR_RT_PARAM_INVALID, "callback");
    EXPECT_REFUSED(aclrtSynchronizeDevice(), ACL_ERROR_RT_PARAM_INVALID, "callback");
    EXPECT_REFUSED(aclrtDestroyStream(stream), ACL_ERROR_RT_PARAM_INVALID, "callback");
    EXPECT_REFUSED(aclrtResetDevice(0), ACL_ERROR_RT_PARAM_INVALID, "callback");
  };
  ASSERT_EQ(aclrtLaunchHostFunc(stream, CallFunction, &call), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

TEST_F(HostCallTest, MayDestroyItsStreamByForce) {
  struct Call {
    aclrtStream stream;
    Gate done;
  };
  const auto run = [](void* argument) {
    const std::unique_ptr<Call> call(static_cast<Call*>(argument));
    EXPECT_EQ(aclrtDestroyStreamForce(call->stream), ACL_SUCCESS);
    call->done.Pass();
  };
  const Gate done;
  aclrtStream stream = NewStream();
  ASSERT_EQ(aclrtLaunchHostFunc(stream, run, new Call{stream, done}), ACL_SUCCESS);
  done.AwaitArrival();
  done.Open();
}

TEST_F(HostCallTest, ThatThrowsIsAnErrorOfTheStream) {
  ASSERT_EQ(aclrtLaunchHostFunc(
                nullptr, [](void*) { throw std::runtime_error("thrown by a test"); }, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_INTERNAL_ERROR);
}

TEST_F(HostCallTest, NeedsAFunctionAndAStream) {
  EXPECT_REFUSED(aclrtLaunchHostFunc(nullptr, nullptr, nullptr), ACL_ERROR_INVALID_PARAM, "fn");
  EXPECT_REFUSED(aclrtLaunchHostFunc(kGarbage[0], CallFunction, nullptr), ACL_ERROR_RT_INVALID_HANDLE, "stream");
}

TEST_F(HostCallTest, ManyRunInOrder) {
  std::vector<int> order;
  std::vector<std::function<void()>> calls(200);
  for (int i = 0; i < 200; ++i) {
    calls[i] = [&order, i] { order.push_back(i); };
    ASSERT_EQ(aclrtLaunchHostFunc(nullptr, CallFunction, &calls[i]), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  ASSERT_EQ(order.size(), 200U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

class ReportTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    stream_ = NewStream();
  }
  aclrtStream stream_ = nullptr;
};

TEST_F(ReportTest, IsDeliveredInTheThreadThatSubscribed) {
  ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
  std::vector<int> order;
  std::thread::id caller;
  std::function<void()> call = [&] {
    order.push_back(2);
    caller = std::this_thread::get_id();
  };
  Queue(stream_, [&order] { return order.push_back(1), ACL_SUCCESS; });
  ASSERT_EQ(aclrtLaunchCallback(CallFunction, &call, ACL_CALLBACK_BLOCK, stream_), ACL_SUCCESS);
  Queue(
      stream_, [&order] { return order.push_back(3), ACL_SUCCESS; }, TaskLength::kSmall);
  EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(caller, std::this_thread::get_id());
  EXPECT_EQ(aclrtUnSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
}

TEST_F(ReportTest, BlocksTheStreamOnlyWhereAsked) {
  ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
  int calls = 0;
  std::function<void()> call = [&calls] { ++calls; };
  ASSERT_EQ(aclrtLaunchCallback(CallFunction, &call, ACL_CALLBACK_NO_BLOCK, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << "the stream passes";
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(aclrtLaunchCallback(CallFunction, &call, ACL_CALLBACK_BLOCK, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 2), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtProcessReport(1000), ACL_SUCCESS);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
}

TEST_F(ReportTest, ServesAnotherThreadThatWaits) {
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::thread server([&] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    while (!stop) aclrtProcessReport(1);
  });
  ASSERT_EQ(aclrtSubscribeReport(static_cast<uint64_t>(server.native_handle()), stream_), ACL_SUCCESS);
  std::function<void()> call = [&calls] { ++calls; };
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(
        aclrtLaunchCallback(CallFunction, &call, i % 2 == 0 ? ACL_CALLBACK_BLOCK : ACL_CALLBACK_NO_BLOCK, stream_),
        ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  while (calls < 50) std::this_thread::yield();
  stop = true;
  server.join();
  EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS) << "which ends the subscription";
}

TEST_F(ReportTest, SubscriptionsAreChecked) {
  std::function<void()> call = [] {};
  EXPECT_REFUSED(aclrtLaunchCallback(CallFunction, &call, ACL_CALLBACK_BLOCK, stream_), ACL_ERROR_RT_STREAM_NO_CB_REG,
                 "aclrtSubscribeReport");
  EXPECT_REFUSED(aclrtProcessReport(10), ACL_ERROR_RT_THREAD_SUBSCRIBE, "subscribed");
  EXPECT_REFUSED(aclrtUnSubscribeReport(ThisThread(), stream_), ACL_ERROR_RT_THREAD_SUBSCRIBE, "subscribed");
  ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtSubscribeReport(ThisThread(), stream_), ACL_ERROR_RT_STREAM_SUBSCRIBE, "already");
  EXPECT_REFUSED(aclrtUnSubscribeReport(ThisThread() + 1, stream_), ACL_ERROR_RT_THREAD_SUBSCRIBE, "subscribed");
  EXPECT_REFUSED(aclrtProcessReport(0), ACL_ERROR_RT_PARAM_INVALID, "timeout");
  EXPECT_REFUSED(aclrtProcessReport(-2), ACL_ERROR_RT_PARAM_INVALID, "timeout");
  EXPECT_REFUSED(aclrtProcessReport(2), ACL_ERROR_RT_REPORT_TIMEOUT, "2 ms");
  EXPECT_REFUSED(aclrtLaunchCallback(nullptr, &call, ACL_CALLBACK_BLOCK, stream_), ACL_ERROR_INVALID_PARAM, "fn");
  EXPECT_REFUSED(aclrtLaunchCallback(CallFunction, &call, static_cast<aclrtCallbackBlockType>(2), stream_),
                 ACL_ERROR_INVALID_PARAM, "blockType");
  EXPECT_EQ(aclrtUnSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
}

TEST_F(ReportTest, UnsubscribingDropsWhatWasNotFetchedAndFreesTheStream) {
  ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
  int calls = 0;
  std::function<void()> call = [&calls] { ++calls; };
  ASSERT_EQ(aclrtLaunchCallback(CallFunction, &call, ACL_CALLBACK_NO_BLOCK, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchCallback(CallFunction, &call, ACL_CALLBACK_BLOCK, stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace canopy::ascendcl
