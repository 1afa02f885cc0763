// SPDX-License-Identifier: Apache-2.0
// Many threads at once on everything, for the sanitizers and for deadlocks.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tests/ascendcl/runtime_fixture.h"

namespace canopy::ascendcl {
namespace {

constexpr int kThreads = 6;

class StressTest : public RuntimeTest {
 protected:
  // Runs the body in several threads with device 0 current; the body gets the thread's number.
  template <typename Body>
  static void InThreads(Body&& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&body, i] {
        ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
        body(i);
        EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

// Each stream's work must come in order, whoever queues, runs and waits. The plain counters are the check: two tasks of
// a stream at once would be a race.
TEST_F(StressTest, StreamsKeepOrderUnderManyThreads) {
  InThreads([](int id) {
    std::mt19937 random(id);
    aclrtStream stream = NewStream();
    int64_t count = 0;
    for (int round = 0; round < 60; ++round) {
      const int64_t before = count;
      const int tasks = static_cast<int>(random() % 20);
      for (int i = 0; i < tasks; ++i) {
        const int64_t expected = before + i;
        Queue(
            stream, [&count, expected] { return count++ == expected ? ACL_SUCCESS : 99; }, LengthInTurn(random()));
      }
      if (random() % 3 == 0) {
        EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
      }
      ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
      ASSERT_EQ(count, before + tasks);
    }
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  });
}

// A baton goes round streams of different threads by events; only who holds it may write.
TEST_F(StressTest, EventsOrderStreamsOfManyThreads) {
  std::mutex baton;
  aclrtEvent last = NewEvent();
  int64_t total = 0;
  InThreads([&](int id) {
    std::mt19937 random(id);
    aclrtStream stream = NewStream();
    for (int round = 0; round < 100; ++round) {
      const std::lock_guard guard(baton);
      ASSERT_EQ(aclrtStreamWaitEvent(stream, last), ACL_SUCCESS);
      if (random() % 4 == 0) {
        ASSERT_EQ(aclrtLaunchHostFunc(
                      stream, [](void* n) { ++*static_cast<int64_t*>(n); }, &total),
                  ACL_SUCCESS);
      } else {
        Queue(
            stream, [&total] { return ++total, ACL_SUCCESS; }, LengthInTurn(random()));
      }
      ASSERT_EQ(aclrtRecordEvent(last, stream), ACL_SUCCESS);
    }
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  });
  EXPECT_EQ(total, kThreads * 100);
}

TEST_F(StressTest, OneStreamServesManyThreads) {
  aclrtStream stream = NewStream();
  int64_t count = 0;
  InThreads([&](int id) {
    std::mt19937 random(id);
    for (int round = 0; round < 200; ++round) {
      Queue(
          stream, [&count] { return ++count, ACL_SUCCESS; }, LengthInTurn(random()));
      if (random() % 8 == 0) {
        EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
      }
    }
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  });
  EXPECT_EQ(count, kThreads * 200);
}

TEST_F(StressTest, MemoryIsAllocatedCopiedAndFreedByManyThreads) {
  InThreads([](int id) {
    std::mt19937 random(id);
    aclrtStream stream = NewStream();
    for (int round = 0; round < 60; ++round) {
      const size_t bytes = 1 + random() % 300'000;
      void* a = nullptr;
      void* b = nullptr;
      ASSERT_EQ(aclrtMalloc(&a, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      ASSERT_EQ(aclrtMallocHost(&b, bytes), ACL_SUCCESS);
      ASSERT_EQ(aclrtMemsetAsync(a, bytes, id + 1, bytes, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtMemcpyAsync(b, bytes, a, bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
      ASSERT_EQ(static_cast<char*>(b)[bytes - 1], id + 1);
      ASSERT_EQ(aclrtFree(a), ACL_SUCCESS);
      ASSERT_EQ(aclrtFreeHost(b), ACL_SUCCESS);
    }
  });
}

// Handles that other threads destroy meanwhile: every call is refused or succeeds, none crashes.
TEST_F(StressTest, HandlesSharedByThreadsThatDestroyThemAreSafe) {
  std::vector<std::atomic<aclrtStream>> streams(4);
  std::vector<std::atomic<aclrtEvent>> events(4);
  for (auto& stream : streams) stream = NewStream();
  for (auto& event : events) event = NewEvent();
  InThreads([&](int id) {
    std::mt19937 random(id);
    for (int round = 0; round < 300; ++round) {
      std::atomic<aclrtStream>& stream = streams[random() % streams.size()];
      std::atomic<aclrtEvent>& event = events[random() % events.size()];
      aclrtStreamStatus status;
      switch (random() % 9) {
        case 0: {
          aclrtStream fresh = NewStream();
          aclrtStream old = stream.exchange(fresh);
          random() % 2 == 0 ? aclrtDestroyStream(old) : aclrtDestroyStreamForce(old);
          break;
        }
        case 1: {
          aclrtEvent fresh = NewEvent();
          aclrtDestroyEvent(event.exchange(fresh));
          break;
        }
        case 2:
          aclrtRecordEvent(event, stream);
          break;
        case 3:
          aclrtStreamWaitEventWithTimeout(stream, event, 1);
          break;
        case 4:
          aclrtSynchronizeStream(stream);
          break;
        case 5:
          aclrtSynchronizeEventWithTimeout(event, 1);
          break;
        case 6:
          aclrtStreamQuery(stream, &status);
          break;
        case 7:
          aclrtLaunchHostFunc(
              stream, [](void*) {}, nullptr);
          break;
        default: {
          auto* task = new TestTask([] { return ACL_SUCCESS; }, LengthInTurn(random()));
          if (Submit(stream, task) != ACL_SUCCESS) delete task;
        }
      }
    }
    RecentErrors();
  });
}

TEST_F(StressTest, DevicesAreSetAndResetByManyThreads) {
  InThreads([](int id) {
    std::mt19937 random(id);
    for (int round = 0; round < 50; ++round) {
      ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
      bool ran = false;
      auto* task = new TestTask([&ran] { return ran = true, ACL_SUCCESS; }, LengthInTurn(random()));
      ASSERT_EQ(Submit(nullptr, task), ACL_SUCCESS) << RecentErrors();
      ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS) << RecentErrors();
      ASSERT_TRUE(ran);
      ASSERT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
    }
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
}

}  // namespace
}  // namespace canopy::ascendcl
