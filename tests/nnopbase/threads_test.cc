// SPDX-License-Identifier: Apache-2.0
// Distinct executors in distinct threads are a promise; threads that fight over one handle are the caller's mistake,
// and then one of them wins and the others get errors.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "aclnn/acl_meta.h"
#include "nnopbase/tensor_view.h"
#include "tests/nnopbase/fake_run.h"
#include "tests/nnopbase/support.h"

namespace canopy::nnopbase {
namespace {

class ThreadsTest : public RunningTest {
 protected:
  static void InThreads(int count, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(ThreadsTest, RunTheirOwnExecutors) {
  constexpr int kRounds = 100;
  std::atomic<int> failures{0};
  InThreads(4, [&](int) {
    failures += aclrtSetDevice(0) != 0;
    aclrtStream stream = nullptr;
    failures += aclrtCreateStream(&stream) != 0;
    for (int i = 0; i < kRounds; ++i) {
      int cell = 0;
      aclTensor* tensor = MakeTensor({1}, &cell);
      aclOpExecutor* executor = MakeExecutor({tensor});
      failures += aclDestroyTensor(tensor) != 0;
      failures += RunExecutor("aclnnFake", nullptr, 0, executor, stream) != 0;
    }
    failures += aclrtSynchronizeStream(stream) != 0;
    failures += aclrtDestroyStream(stream) != 0;
    failures += aclrtResetDevice(0) != 0;
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(recorder_.entries().size(), 4u * kRounds);
  EXPECT_EQ(recorder_.operators_alive(), 0);
}

TEST_F(ThreadsTest, CannotRunOneExecutorTwice) {
  for (int round = 0; round < 50; ++round) {
    aclOpExecutor* executor = MakeExecutor();
    std::atomic<int> won{0};
    InThreads(3, [&](int) {
      aclrtSetDevice(0);
      const aclnnStatus status = Run(executor);
      EXPECT_TRUE(status == 0 || status == kInner) << status;
      won += status == 0;
      aclrtResetDevice(0);
    });
    EXPECT_EQ(won, 1);
  }
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(recorder_.entries().size(), 50u);
}

TEST_F(ThreadsTest, MayDestroyARepeatableExecutorThatOthersRun) {
  for (int round = 0; round < 50; ++round) {
    aclOpExecutor* executor = MakeRepeatable();
    InThreads(3, [&](int t) {
      aclrtSetDevice(0);
      const aclnnStatus status = t == 0 ? aclDestroyAclOpExecutor(executor) : Run(executor);
      EXPECT_TRUE(status == 0 || (status == kInner && t != 0)) << status;
      aclrtResetDevice(0);
    });
  }
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(recorder_.operators_alive(), 0);
}

// What a reader gets is whole: all extents of one state.
TEST_F(ThreadsTest, ReadTensorsThatOthersRemakeAndDestroy) {
  for (int round = 0; round < 50; ++round) {
    aclTensor* tensor = MakeTensor({5, 5, 5});
    InThreads(3, [&](int t) {
      for (int i = 0; i < 200; ++i) {
        const std::vector<int64_t> dims(3 + i % 8, 5 + i);
        if (t == 0) {
          aclInitTensor(tensor, dims.data(), dims.size(), ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims.data(), 1,
                        nullptr);
        } else if (TensorView view; ReadTensor(tensor, &view)) {
          for (int64_t a = 1; a < view.rank && a < kMaxRank; ++a) EXPECT_EQ(view.dims[a], view.dims[0]);
        }
      }
      if (t == 0) {
        EXPECT_EQ(aclDestroyTensor(tensor), 0);
      }
      TakeMessages();
    });
  }
}

}  // namespace
}  // namespace canopy::nnopbase
