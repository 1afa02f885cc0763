// SPDX-License-Identifier: Apache-2.0
#include "exec/pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

namespace canopy::exec {
namespace {

TEST(PoolTest, EveryJobRunsOnceOnAWorkerOfTheRegion) {
  ASSERT_EQ(ThreadCount(), 4);
  for (int64_t jobs : {0, 1, 2, 3, 7, 1000}) {
    for (bool serial : {false, true}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(jobs));
      std::atomic<bool> bad_worker{false};
      ParallelFor(jobs, serial, [&](int64_t index, int worker) {
        runs[static_cast<size_t>(index)]++;
        if (worker < 0 || worker >= ThreadCount() || (serial && worker != 0)) bad_worker = true;
      });
      for (auto& count : runs) EXPECT_EQ(count, 1);
      EXPECT_FALSE(bad_worker);
    }
  }
}

TEST(PoolTest, JobsRunBackwardsOnTheCallerWhereAskedFor) {
  const ScopedBackwardJobs backward;
  std::vector<int64_t> order;
  ParallelFor(5, false, [&](int64_t index, int worker) {
    EXPECT_EQ(worker, 0);
    order.push_back(index);
  });
  EXPECT_EQ(order, (std::vector<int64_t>{4, 3, 2, 1, 0}));
}

TEST(PoolTest, NoTwoJobsShareAWorkerAtATime) {
  std::atomic<int> inside[4] = {};
  std::atomic<bool> shared{false};
  for (int round = 0; round < 200; ++round) {
    ParallelFor(16, false, [&](int64_t, int worker) {
      if (inside[worker]++ != 0) shared = true;
      inside[worker]--;
    });
  }
  EXPECT_FALSE(shared);
}

TEST(PoolTest, EveryWorkerBeginsWithJobsOfItsOwn) {
  constexpr int64_t kJobsEach = 3;
  std::atomic<int> met{0};
  std::atomic<bool> strange{false};
  ParallelFor(4 * kJobsEach, false, [&](int64_t index, int worker) {
    if (index % kJobsEach != 0) return;
    // Nobody has done a part before all have begun one, so none is another's.
    if (index / kJobsEach != worker) strange = true;
    met++;
    while (met < 4) std::this_thread::yield();
  });
  EXPECT_EQ(met, 4);
  EXPECT_FALSE(strange);
}

TEST(PoolTest, JobsOfAWorkerThatIsLateAreDoneByOthers) {
  std::atomic<int> done{0};
  ParallelFor(40, false, [&](int64_t index, int) {
    // Returns when all but the parts' first jobs are done, those of its own part among them.
    if (index == 0) {
      while (done < 36) std::this_thread::yield();
    } else if (index % 10 != 0) {
      done++;
    }
  });
  EXPECT_EQ(done, 36);
}

TEST(PoolTest, WorkersThatWentToSleepComeBack) {
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than a worker spins
    std::atomic<int> met{0};
    // Every job waits for a second thread, so a lost wake-up would hang here.
    ParallelFor(2, false, [&](int64_t, int) {
      met++;
      while (met < 2) std::this_thread::yield();
    });
    EXPECT_EQ(met, 2);
  }
}

TEST(PoolTest, RegionsOfSeveralThreadsAndNestedOnesComplete) {
  std::atomic<int64_t> total{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&total] {
      for (int round = 0; round < 100; ++round) {
        ParallelFor(8, false, [&total](int64_t, int) { ParallelFor(2, false, [&total](int64_t, int) { total++; }); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, 4 * 100 * 8 * 2);
}

TEST(PoolTest, JobsRunWithDenormalsFlushedAndTheCallerKeepsItsMode) {
  std::atomic<int> kept{0};
  volatile float least = std::numeric_limits<float>::min();
  ParallelFor(64, false, [&](int64_t, int) {
    if (least * 0.5f != 0.0f) kept++;
  });
  EXPECT_EQ(kept, 0);
  EXPECT_GT(least * 0.5f, 0.0f);
}

TEST(PoolTest, AForkedChildComputesWithThreadsOfItsOwn) {
  std::atomic<int> before{0};
  ParallelFor(8, false, [&](int64_t, int) { before++; });
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> met{0};
    ParallelFor(2, false, [&](int64_t, int) {
      met++;
      while (met < 2) std::this_thread::yield();
    });
    _exit(met == 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace canopy::exec
