// SPDX-License-Identifier: Apache-2.0
// Which thread runs the work of a stream, and when.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/ascendcl/runtime_fixture.h"

namespace canopy::ascendcl {
namespace {

class WorkTest : public RuntimeTest {};

TEST_F(WorkTest, RunsWorkThatNobodyWaitsFor) {
  for (const TaskLength length : {TaskLength::kSmall, TaskLength::kBrief, TaskLength::kLong}) {
    Gate done;
    std::atomic<bool> ran{false};
    Queue(
        NewStream(), [&ran, done] { return ran = true, done.Pass(), ACL_SUCCESS; }, length);
    done.AwaitArrival();
    EXPECT_TRUE(ran);
    done.Open();
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  }
}

TEST_F(WorkTest, RunsSmallWorkInTheThreadThatWaits) {
  aclrtStream stream = NewStream();
  Gate gate;
  QueueGate(NewStream(), gate);  // holds the dispatcher
  gate.AwaitArrival();
  std::thread::id runner;
  Queue(
      stream, [&runner] { return runner = std::this_thread::get_id(), ACL_SUCCESS; }, TaskLength::kSmall);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(runner, std::this_thread::get_id());
  gate.Open();
}

// Now and then the dispatcher is faster.
TEST_F(WorkTest, RunsBriefWorkInTheThreadThatWaits) {
  aclrtStream stream = NewStream();
  std::thread::id runner;
  for (int attempt = 0; attempt < 1000 && runner != std::this_thread::get_id(); ++attempt) {
    Queue(
        stream, [&runner] { return runner = std::this_thread::get_id(), ACL_SUCCESS; }, TaskLength::kBrief);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  }
  EXPECT_EQ(runner, std::this_thread::get_id());
}

// The dispatcher has gone to sleep by then, most likely; without it the small work would wait for ever.
TEST_F(WorkTest, RunsSmallWorkBesideBriefWorkOfTheThreadThatWaits) {
  aclrtStream stream = NewStream(), other = NewStream();
  const std::thread::id self = std::this_thread::get_id();
  bool beside = false;
  for (int attempt = 0; attempt < 1000 && !beside; ++attempt) {
    Queue(
        stream,
        [&] {
          if (std::this_thread::get_id() != self) return ACL_SUCCESS;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          const auto runner = std::make_shared<std::promise<std::thread::id>>();
          Queue(
              other, [runner] { return runner->set_value(std::this_thread::get_id()), ACL_SUCCESS; },
              TaskLength::kSmall);
          beside = runner->get_future().get() != self;
          return ACL_SUCCESS;
        },
        TaskLength::kBrief);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  }
  EXPECT_TRUE(beside);
}

TEST_F(WorkTest, RunsBriefWorkOfSeveralThreadsOneAtATime) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  std::atomic<int> running{0}, most{0}, ran{0};
  const auto work = [&] {
    most = std::max(most.load(), ++running);
    std::this_thread::yield();
    --running;
    ++ran;
    return ACL_SUCCESS;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, stream = NewStream()] {
      EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
      for (int j = 0; j < 200; ++j) {
        Queue(stream, work, j % 4 != 0 ? TaskLength::kBrief : TaskLength::kLong);
        if (j % 2 == 0) {
          EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
        }
      }
      EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(ran, 800);
}

TEST_F(WorkTest, RunsBriefWorkThatNobodyWaitsFor) {
  Gate done;
  Queue(
      NewStream(), [done] { return done.Pass(), ACL_SUCCESS; }, TaskLength::kBrief);
  done.AwaitArrival();
  done.Open();
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
}

// The dispatcher looks rarely while a thread that waits computes, but it still looks afterwards.
TEST_F(WorkTest, RunsWorkThatNobodyWaitsForAfterAThreadThatWaitsComputed) {
  aclrtStream stream = NewStream();
  for (const TaskLength length : {TaskLength::kSmall, TaskLength::kBrief}) {
    for (int i = 0; i < 20; ++i) {
      const auto compute = [i] {
        std::this_thread::sleep_for(std::chrono::microseconds(i * 200));
        return ACL_SUCCESS;
      };
      Queue(stream, compute, TaskLength::kBrief);
      EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
      std::promise<void> ran;
      Queue(
          stream, [&] { return ran.set_value(), ACL_SUCCESS; }, length);
      ran.get_future().get();
      EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);  // or the promise could end before what set it
    }
  }
}

TEST_F(WorkTest, RunsLargeWorkOnOneThreadOfTheDeviceOneAtATime) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::set<std::thread::id> runners;
  for (int i = 0; i < 8; ++i) {
    aclrtStream stream = NewStream();
    for (int j = 0; j < 5; ++j) {
      Queue(stream, [&] {
        most = std::max(most.load(), ++running);
        runners.insert(std::this_thread::get_id());
        std::this_thread::yield();
        --running;
        return ACL_SUCCESS;
      });
    }
  }
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(most, 1);
  EXPECT_EQ(runners.size(), 1U);
  EXPECT_EQ(runners.count(std::this_thread::get_id()), 0U);
}

TEST_F(WorkTest, TakesTurnsWithOtherStreams) {
  Gate gate;
  QueueGate(NewStream(), gate);
  gate.AwaitArrival();
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    aclrtStream stream = NewStream();
    for (int j = 0; j < 3; ++j) Queue(stream, [&order, i] { return order.push_back(i), ACL_SUCCESS; });
  }
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

}  // namespace
}  // namespace canopy::ascendcl
