// SPDX-License-Identifier: Apache-2.0
// A child has the parent's runtime without its threads, and starts its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "tests/ascendcl/runtime_fixture.h"

namespace canopy::ascendcl {
namespace {

class ForkTest : public RuntimeTest {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the thread sanitizer does not follow a fork";
#endif
    RuntimeTest::SetUp();
  }
  void TearDown() override {
    if (!IsSkipped()) RuntimeTest::TearDown();
  }

  // Runs the body in a child, where it returns the number of a line that failed, or 0. A child that hangs is ended.
  template <typename Body>
  static void ExpectChild(Body&& body) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      _exit(body());
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "the number of the check that failed";
  }
};

// Work of every sort, alone.
int UseEverything(aclrtStream stream) {
  std::atomic<int> ran{0};
  const auto count = [&ran] { return ++ran, ACL_SUCCESS; };
  Queue(stream, count);
  Queue(stream, count, TaskLength::kSmall);
  if (aclrtLaunchHostFunc(
          stream, [](void* n) { ++*static_cast<std::atomic<int>*>(n); }, &ran) != 0)
    return 101;
  if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) return 102;
  if (ran != 3) return 103;
  void* memory = nullptr;
  if (aclrtMalloc(&memory, 100, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return 104;
  if (aclrtFree(memory) != ACL_SUCCESS) return 105;
  if (aclrtFree(memory) != ACL_ERROR_RT_PARAM_INVALID || aclGetRecentErrMsg() == nullptr) return 106;
  return 0;
}

TEST_F(ForkTest, ChildOfAnIdleParentWorks) {
  aclrtStream stream = NewStream();
  ASSERT_EQ(UseEverything(stream), 0);
  ExpectChild([stream] {
    if (const int failed = UseEverything(stream); failed != 0) return failed;
    if (UseEverything(nullptr) != 0) return 2;
    return aclrtDestroyStream(stream) == ACL_SUCCESS && aclrtResetDevice(0) == ACL_SUCCESS ? 0 : 3;
  });
  EXPECT_EQ(UseEverything(stream), 0) << "the parent goes on";
}

TEST_F(ForkTest, ChildLosesWhatWasQueuedAndIsToldSo) {
  aclrtStream stream = NewStream();
  aclrtStream idle = NewStream();
  aclrtEvent event = NewEvent();
  Gate gate;
  std::atomic<int> ran{0};
  QueueGate(stream, gate);
  gate.AwaitArrival();
  Queue(stream, [&ran] { return ++ran, ACL_SUCCESS; });
  ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  ExpectChild([&] {
    if (aclrtSynchronizeEvent(event) != ACL_SUCCESS) return 1;
    if (aclrtSynchronizeStream(idle) != ACL_SUCCESS) return 2;
    if (aclrtSynchronizeStream(stream) != ACL_ERROR_RT_DEVICE_TASK_ABORT) return 3;
    if (ran != 0) return 4;
    return UseEverything(stream);
  });
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(ran, 1);
}

TEST_F(ForkTest, WhileThreadsWaitQueueAndAllocateLeavesTheChildFree) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&stop] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      aclrtStream stream = NewStream();
      while (!stop) EXPECT_EQ(UseEverything(stream), 0);
    });
  }
  for (int i = 0; i < 20; ++i) {
    ExpectChild([] {
      aclrtStream stream = nullptr;
      return aclrtCreateStream(&stream) == ACL_SUCCESS ? UseEverything(stream) : 1;
    });
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// Every message has the time, which the C library converts under a lock of its own.
TEST_F(ForkTest, WhileThreadsFileErrorsLeavesTheChildFreeToFileItsOwn) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&stop] {
      while (!stop) EXPECT_EQ(aclrtFree(kGarbage[0]), ACL_ERROR_RT_PARAM_INVALID);
    });
  }
  for (int i = 0; i < 50 && !HasFailure(); ++i) {
    ExpectChild([] { return aclrtFree(kGarbage[0]) == ACL_ERROR_RT_PARAM_INVALID ? 0 : 1; });
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ForkTest, InsideOfAHostCallEndsInTheChildQuietly) {
  struct Call {
    pid_t child = -1;
    static void Run(void* self) { static_cast<Call*>(self)->child = fork(); }
  } call;
  const pid_t parent = getpid();
  ASSERT_EQ(aclrtLaunchHostFunc(nullptr, Call::Run, &call), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(getpid(), parent);
  int status = -1;
  ASSERT_EQ(waitpid(call.child, &status, 0), call.child);
  EXPECT_TRUE(WIFEXITED(status));
}

}  // namespace
}  // namespace canopy::ascendcl
