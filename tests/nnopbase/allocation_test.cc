// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "aclnn/acl_meta.h"
#include "tests/nnopbase/allocations.h"
#include "tests/nnopbase/fake_run.h"
#include "tests/nnopbase/support.h"

namespace canopy::nnopbase {
namespace {

class AllocationTest : public RunningTest {
 protected:
  // `create` is called with its first, second, ... allocation failing, until it gets by without. Each failure must be
  // an answer with a message; then nothing may be left behind. `create` returns whether it succeeded, and tidies up.
  static void FailEach(const std::function<bool()>& create) {
    for (long n = 1;; ++n) {
      ASSERT_LT(n, 100) << "no end of allocations";
      // Messages and tables settle in the first rounds; later rounds must leave the count as it is.
      long live = 0;
      bool failed = false;
      for (int round = 0; round < 6; ++round) {
        if (round == 3) live = LiveAllocationsOfThisThread();
        FailAllocationOfThisThread(n);
        const bool created = create();
        failed = AllocationHasFailed();
        FailAllocationOfThisThread(0);
        const bool explained = aclGetRecentErrMsg() != nullptr;
        EXPECT_EQ(created, !explained) << "allocation " << n;
        EXPECT_TRUE(failed || created) << "allocation " << n;
      }
      EXPECT_EQ(LiveAllocationsOfThisThread(), live) << "allocation " << n;
      if (!failed) break;
    }
  }

  const std::vector<int64_t> many_ = std::vector<int64_t>(40, 1);  // more than handles keep in place
};

TEST_F(AllocationTest, CountsAndFailsWhatItShould) {
  long before = AllocationsOfThisThread();
  auto p = std::make_unique<int>(1);
  EXPECT_EQ(AllocationsOfThisThread(), before + 1);
  FailAllocationOfThisThread(1);
  EXPECT_EQ(new (std::nothrow) int, nullptr);
  EXPECT_TRUE(AllocationHasFailed());
}

TEST_F(AllocationTest, TensorsSurviveEachFailure) {
  FailEach([this] {
    aclTensor* t = MakeTensor(many_);
    return t != nullptr && aclDestroyTensor(t) == 0;
  });
}

TEST_F(AllocationTest, RemadeTensorsSurviveEachFailure) {
  aclTensor* t = MakeTensor({1, 2});
  FailEach([this, t] {
    return aclInitTensor(t, many_.data(), 40, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, many_.data(), 40, nullptr) == 0;
  });
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST_F(AllocationTest, GettersSurviveEachFailure) {
  aclTensor* t = MakeTensor(many_);
  FailEach([t] {
    int64_t* dims = nullptr;
    uint64_t count = 0;
    if (aclGetViewShape(t, &dims, &count) != 0) return false;
    delete[] dims;
    return true;
  });
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST_F(AllocationTest, ArraysSurviveEachFailure) {
  const std::vector<float> floats(40);
  const auto bools = std::make_unique<bool[]>(40);
  FailEach([this] {
    aclIntArray* a = aclCreateIntArray(many_.data(), 40);
    return a != nullptr && aclDestroyIntArray(a) == 0;
  });
  FailEach([&floats] {
    aclFloatArray* a = aclCreateFloatArray(floats.data(), 40);
    return a != nullptr && aclDestroyFloatArray(a) == 0;
  });
  FailEach([&bools] {
    aclBoolArray* a = aclCreateBoolArray(bools.get(), 40);
    return a != nullptr && aclDestroyBoolArray(a) == 0;
  });
}

TEST_F(AllocationTest, ListsSurviveEachFailure) {
  const std::vector<const aclTensor*> nulls(40);
  FailEach([&nulls] {
    aclTensorList* list = aclCreateTensorList(nulls.data(), 40);
    return list != nullptr && aclDestroyTensorList(list) == 0;
  });
}

// Handles go through the empty table and into further chunks.
TEST_F(AllocationTest, HandlesSurviveEachFailureOfTheTable) {
  float value = 0;
  std::vector<aclScalar*> scalars;
  scalars.reserve(200);
  int refused = 0;
  while (scalars.size() < 200) {
    FailAllocationOfThisThread(1);
    aclScalar* scalar = aclCreateScalar(&value, ACL_FLOAT);
    FailAllocationOfThisThread(0);
    if (scalar == nullptr) {
      ++refused;
      scalar = aclCreateScalar(&value, ACL_FLOAT);
      ASSERT_NE(scalar, nullptr) << "there is memory again";
    }
    scalars.push_back(scalar);
  }
  EXPECT_EQ(refused, 3) << "chunks of 64, 128 and 256";
  for (aclScalar* scalar : scalars) EXPECT_EQ(aclDestroyScalar(scalar), 0);
}

TEST_F(AllocationTest, ExecutorsSurviveEachFailure) {
  ExecutorSpec spec;
  spec.name = "aclnnFake";
  spec.run = std::make_shared<FakeRun>(&recorder_);
  FailEach([&spec] {
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = CreateExecutor(spec, &executor);
    if (status != 0) {
      EXPECT_EQ(status, 561101);
      EXPECT_EQ(executor, nullptr);
      return false;
    }
    return aclDestroyAclOpExecutor(executor) == 0;
  });
  EXPECT_EQ(spec.run.use_count(), 1) << "no executor is left";
}

TEST_F(AllocationTest, OrdinaryHandlesCostNone) {
  const int64_t dims[] = {2, 3, 4, 5, 6};
  aclDestroyTensor(MakeTensor({1}));
  aclDestroyIntArray(aclCreateIntArray(dims, 3));
  const long before = AllocationsOfThisThread();
  aclTensor* t = aclCreateTensor(dims, 5, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCDHW, dims, 5, nullptr);
  aclIntArray* a = aclCreateIntArray(dims, 3);
  EXPECT_EQ(AllocationsOfThisThread(), before);
  EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclDestroyIntArray(a), 0);
}

TEST_F(AllocationTest, ASingleRunCostsNone) {
  int cell = 0;
  aclTensor* tensor = MakeTensor({1}, &cell);
  aclOpExecutor* executor = MakeExecutor({tensor});
  const long before = AllocationsOfThisThread();
  const aclnnStatus status = Run(executor);
  EXPECT_EQ(AllocationsOfThisThread(), before);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Synchronize(), 0);
  aclDestroyTensor(tensor);
}

TEST_F(AllocationTest, RepeatedRunsCostNoneBeyondThoseEverInFlight) {
  int cell = 0;
  aclTensor* tensor = MakeTensor({1}, &cell);
  aclOpExecutor* executor = MakeRepeatable({tensor});
  long before = AllocationsOfThisThread();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Run(executor), 0);
    EXPECT_EQ(Synchronize(), 0);
  }
  EXPECT_EQ(AllocationsOfThisThread(), before) << "one at a time";

  for (int round = 0; round < 2; ++round) {
    recorder_.Close();
    before = AllocationsOfThisThread();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(Run(executor), 0);
    EXPECT_EQ(AllocationsOfThisThread(), before + (round == 0 ? 3 : 0)) << "four at once, round " << round;
    recorder_.Open();
    EXPECT_EQ(Synchronize(), 0);
  }
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  aclDestroyTensor(tensor);
}

TEST_F(AllocationTest, ARunThatFindsNoMemoryIsRefused) {
  aclOpExecutor* executor = MakeRepeatable();
  recorder_.Close();
  EXPECT_EQ(Run(executor), 0);
  FailAllocationOfThisThread(1);
  EXPECT_EQ(Run(executor), kInnerNull);
  FailAllocationOfThisThread(0);
  EXPECT_EQ(Run(executor), 0) << "there is memory again";
  recorder_.Open();
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(recorder_.entries().size(), 2u);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
}

}  // namespace
}  // namespace canopy::nnopbase
