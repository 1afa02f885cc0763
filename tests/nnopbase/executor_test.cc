// SPDX-License-Identifier: Apache-2.0
#include "nnopbase/executor.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "aclnn/acl_meta.h"
#include "tests/nnopbase/fake_run.h"
#include "tests/nnopbase/support.h"

namespace canopy::nnopbase {
namespace {

using ExecutorTest = RunningTest;

TEST_F(ExecutorTest, RunsWithTheAddressesOfPhaseOne) {
  int a = 0, b = 0, workspace = 0;
  aclTensor* first = MakeTensor({1}, &a);
  aclTensor* third = MakeTensor({1}, &b);
  aclOpExecutor* executor = MakeExecutor({first, nullptr, third}, sizeof(workspace));
  EXPECT_EQ(Run(executor, &workspace, sizeof(workspace)), 0);
  EXPECT_EQ(Synchronize(), 0);
  ASSERT_EQ(recorder_.entries().size(), 1u);
  const Recorder::Entry run = recorder_.entries()[0];
  EXPECT_EQ(run.workspace, &workspace);
  EXPECT_EQ(run.addresses, (TensorAddresses{&a, nullptr, &b}));
  EXPECT_EQ(recorder_.operators_alive(), 0) << "a single-use executor ends with its run";
  EXPECT_EQ(TakeMessages(), "");
  aclDestroyTensor(first);
  aclDestroyTensor(third);
}

TEST_F(ExecutorTest, ReadsNothingThroughHandlesAfterPhaseOne) {
  int a = 0, b = 0;
  aclTensor* changed = MakeTensor({1}, &a);
  aclTensor* destroyed = MakeTensor({1}, &a);
  aclOpExecutor* executor = MakeExecutor({changed, destroyed});
  EXPECT_EQ(aclSetRawTensorAddr(changed, &b), 0);
  EXPECT_EQ(aclDestroyTensor(destroyed), 0);
  EXPECT_EQ(Run(executor), 0);
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(recorder_.entries()[0].addresses, (TensorAddresses{&a, &a}));
  aclDestroyTensor(changed);
}

TEST_F(ExecutorTest, RunsOnTheDefaultStream) {
  EXPECT_EQ(RunExecutor("aclnnFake", nullptr, 0, MakeExecutor(), nullptr), 0);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(recorder_.entries().size(), 1u);
}

TEST_F(ExecutorTest, IsConsumedByItsRun) {
  aclOpExecutor* executor = MakeExecutor();
  EXPECT_EQ(Run(executor), 0);
  EXPECT_EQ(Run(executor), kInner);
  const std::string text = TakeMessages();
  EXPECT_TRUE(Mentions(text, "aclnnFake: argument executor")) << text;
  EXPECT_TRUE(Mentions(text, "a consumed or destroyed aclOpExecutor")) << text;
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), kInner);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), kInner);
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(recorder_.entries().size(), 1u);
}

TEST_F(ExecutorTest, MustBeAnExecutor) {
  aclTensor* tensor = MakeTensor({1});
  for (aclOpExecutor* wrong : {Foreign<aclOpExecutor>(), reinterpret_cast<aclOpExecutor*>(tensor)}) {
    EXPECT_EQ(Run(wrong), kInner);
    EXPECT_TRUE(Mentions(TakeMessages(), "executor"));
    EXPECT_EQ(aclDestroyAclOpExecutor(wrong), kInner);
    EXPECT_EQ(aclSetAclOpExecutorRepeatable(wrong), kInner);
    EXPECT_NE(TakeMessages(), "");
  }
  EXPECT_EQ(Run(nullptr), kNullPointer);
  EXPECT_TRUE(Mentions(TakeMessages(), "executor"));
  EXPECT_EQ(aclDestroyAclOpExecutor(nullptr), kInnerNull);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(nullptr), kInnerNull);
  aclDestroyTensor(tensor);
}

// It used to be run, whichever operator had made it.
TEST_F(ExecutorTest, MustHaveBeenMadeForTheOperatorThatRunsIt) {
  aclOpExecutor* single = MakeExecutor();
  aclOpExecutor* repeatable = MakeRepeatable();
  for (aclOpExecutor* executor : {single, repeatable}) {
    EXPECT_EQ(RunExecutor("aclnnOther", nullptr, 0, executor, stream_), kInner);
    const std::string text = TakeMessages();
    EXPECT_TRUE(Mentions(text, "aclnnOther: argument executor")) << text;
    EXPECT_TRUE(Mentions(text, "made by aclnnFakeGetWorkspaceSize")) << text;
  }
  EXPECT_EQ(Run(single), kInner) << "consumed, as by every failure";
  EXPECT_EQ(Run(repeatable), 0) << "kept";
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(recorder_.entries().size(), 1u);
  EXPECT_EQ(aclDestroyAclOpExecutor(repeatable), 0);
}

TEST_F(ExecutorTest, EndsWhenAWorkspaceIsPromisedButNull) {
  for (aclOpExecutor* executor : {MakeExecutor(), MakeExecutor({}, 64), MakeRepeatable({}, 64)}) {
    EXPECT_EQ(Run(executor, nullptr, 64), kNullPointer);
    EXPECT_TRUE(Mentions(TakeMessages(), "workspace is NULL"));
    EXPECT_EQ(Run(executor), kInner) << "freed";
  }
  EXPECT_EQ(recorder_.operators_alive(), 0);
}

TEST_F(ExecutorTest, EndsWhenTheWorkspaceIsTooSmall) {
  char workspace[64];
  for (aclOpExecutor* executor : {MakeExecutor({}, 64), MakeRepeatable({}, 64)}) {
    EXPECT_EQ(Run(executor, workspace, 63), kInvalid);
    const std::string text = TakeMessages();
    EXPECT_TRUE(Mentions(text, "aclnnFake: argument workspaceSize is 63; phase 1 asked for 64")) << text;
    EXPECT_EQ(Run(executor, workspace, 64), kInner) << "freed";
  }
  EXPECT_EQ(Run(MakeExecutor({}, 64), nullptr, 0), kInvalid);
  EXPECT_EQ(recorder_.operators_alive(), 0);
}

TEST_F(ExecutorTest, TakesMoreWorkspaceThanItAskedFor) {
  char workspace[65];
  EXPECT_EQ(Run(MakeExecutor({}, 64), workspace, 65), 0);
  EXPECT_EQ(Run(MakeExecutor({}, 0), workspace, 1), 0);
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(recorder_.entries().size(), 2u);
}

TEST_F(ExecutorTest, PassesOnWhatTheOperatorRefuses) {
  const std::string long_tail(2000, '.');
  recorder_.refusal = base::Status(kNullPointer, "aclnnFake: the data of input is NULL" + long_tail);
  aclOpExecutor* single = MakeExecutor();
  aclOpExecutor* repeatable = MakeRepeatable();
  EXPECT_EQ(Run(single), kNullPointer);
  EXPECT_TRUE(Mentions(TakeMessages(), "the data of input is NULL" + long_tail));
  EXPECT_EQ(Run(repeatable), kNullPointer);
  EXPECT_EQ(recorder_.operators_alive(), 1);
  recorder_.refusal = base::Status();
  EXPECT_EQ(Run(single), kInner) << "consumed";
  EXPECT_EQ(Run(repeatable), 0) << "kept";
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(recorder_.entries().size(), 1u);
  EXPECT_EQ(aclDestroyAclOpExecutor(repeatable), 0);
}

TEST_F(ExecutorTest, ReportsAStreamThatIsNone) {
  aclOpExecutor* single = MakeExecutor();
  aclOpExecutor* repeatable = MakeRepeatable();
  for (aclOpExecutor* executor : {single, repeatable}) {
    EXPECT_EQ(RunExecutor("aclnnFake", nullptr, 0, executor, Foreign<void>()), kRuntimeError);
    EXPECT_TRUE(Mentions(TakeMessages(), "aclnnFake: argument stream"));
  }
  EXPECT_EQ(Run(single), kInner) << "consumed";
  EXPECT_EQ(Run(repeatable), 0) << "kept";
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(repeatable), 0);
  EXPECT_EQ(recorder_.operators_alive(), 0);
}

TEST_F(ExecutorTest, ReportsAThreadWithoutADevice) {
  aclOpExecutor* executor = MakeExecutor();
  std::thread([executor] {
    EXPECT_EQ(RunExecutor("aclnnFake", nullptr, 0, executor, nullptr), kRuntimeError);
    EXPECT_TRUE(Mentions(TakeMessages(), "107002"));
  }).join();
  EXPECT_EQ(recorder_.operators_alive(), 0);
}

TEST_F(ExecutorTest, FailingRunsShowWhenTheStreamIsSynchronized) {
  recorder_.code = kRuntimeError;
  EXPECT_EQ(Run(MakeExecutor()), 0);
  EXPECT_EQ(Synchronize(), kRuntimeError);
}

TEST_F(ExecutorTest, MayBeDestroyedUnused) {
  aclOpExecutor* executor = MakeExecutor();
  EXPECT_EQ(recorder_.operators_alive(), 1);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  EXPECT_EQ(recorder_.operators_alive(), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), kInner);
  EXPECT_EQ(Run(executor), kInner);
}

TEST_F(ExecutorTest, MayBeDestroyedWhileItRuns) {
  int a = 0;
  aclTensor* tensor = MakeTensor({1}, &a);
  aclOpExecutor* executor = MakeRepeatable({tensor});
  recorder_.Close();
  EXPECT_EQ(Run(executor), 0);
  EXPECT_EQ(Run(executor), 0);
  recorder_.WaitUntilARunHasBegun();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), kInner);
  EXPECT_EQ(Run(executor), kInner);
  EXPECT_EQ(recorder_.operators_alive(), 1) << "queued runs still need it";
  recorder_.Open();
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(FirstAddresses(), (std::vector<void*>{&a, &a}));
  EXPECT_EQ(recorder_.operators_alive(), 0);
  aclDestroyTensor(tensor);
}

TEST_F(ExecutorTest, EndsWithRunsThatAreDropped) {
  aclrtStream dropped = nullptr;
  ASSERT_EQ(aclrtCreateStream(&dropped), 0);
  recorder_.Close();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(RunExecutor("aclnnFake", nullptr, 0, MakeExecutor(), dropped), 0);
  recorder_.WaitUntilARunHasBegun();
  EXPECT_EQ(aclrtDestroyStreamForce(dropped), 0);
  recorder_.Open();
  recorder_.WaitUntilNoOperatorIsAlive();
  EXPECT_EQ(recorder_.entries().size(), 1u);
}

TEST_F(ExecutorTest, MayBeDestroyedAfterTheDevice) {
  aclOpExecutor* repeatable = nullptr;
  std::thread([&] {
    EXPECT_EQ(aclrtSetDevice(0), 0);
    repeatable = MakeRepeatable();
    EXPECT_EQ(RunExecutor("aclnnFake", nullptr, 0, repeatable, nullptr), 0);
    EXPECT_EQ(aclrtResetDevice(0), 0);
  }).join();
  EXPECT_EQ(aclDestroyAclOpExecutor(repeatable), 0);
  recorder_.WaitUntilNoOperatorIsAlive();
}

TEST_F(ExecutorTest, RefusesTensorsThatAreGone) {
  ExecutorSpec spec;
  spec.name = "aclnnFake";
  spec.run = std::make_shared<FakeRun>(&recorder_);
  spec.tensors[3] = Foreign<aclTensor>();
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(CreateExecutor(spec, &executor), kInvalid);
  EXPECT_EQ(executor, nullptr);
}

TEST_F(ExecutorTest, RunsAnyNumberOfTimesWhenRepeatable) {
  aclOpExecutor* executor = MakeRepeatable();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Run(executor), 0);
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(recorder_.entries().size(), 20u);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  EXPECT_EQ(Run(executor), kInner);
  EXPECT_EQ(recorder_.operators_alive(), 0);
}

TEST_F(ExecutorTest, EachQueuedRunKeepsTheAddressesItStartedWith) {
  int cells[6];
  aclTensor* tensor = MakeTensor({1}, &cells[0]);
  aclOpExecutor* executor = MakeRepeatable({tensor});
  recorder_.Close();
  for (int round = 0; round < 2; ++round) {  // the second round reuses the runs of the first
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(aclSetInputTensorAddr(executor, 0, tensor, &cells[3 * round + i]), 0);
      EXPECT_EQ(Run(executor), 0);
    }
    recorder_.Open();
    EXPECT_EQ(Synchronize(), 0);
    recorder_.Close();
  }
  EXPECT_EQ(FirstAddresses(), (std::vector<void*>{&cells[0], &cells[1], &cells[2], &cells[3], &cells[4], &cells[5]}));
  aclDestroyAclOpExecutor(executor);
  aclDestroyTensor(tensor);
}

TEST_F(ExecutorTest, ADestroyedTensorKeepsTheAddressItWasLastSeenWith) {
  int a = 0, b = 0, other = 0;
  aclTensor* seen = MakeTensor({1}, &a);
  aclTensor* unseen = MakeTensor({1}, &a);
  aclOpExecutor* executor = MakeRepeatable({seen, unseen});
  EXPECT_EQ(aclDestroyTensor(unseen), 0);
  EXPECT_EQ(aclSetRawTensorAddr(seen, &b), 0);
  EXPECT_EQ(Run(executor), 0);
  EXPECT_EQ(aclDestroyTensor(seen), 0);
  aclTensor* in_the_same_slot = MakeTensor({1}, &other);
  EXPECT_EQ(Run(executor), 0);
  EXPECT_EQ(Synchronize(), 0);
  ASSERT_EQ(recorder_.entries().size(), 2u);
  EXPECT_EQ(recorder_.entries()[0].addresses, (TensorAddresses{&b, &a}));
  EXPECT_EQ(recorder_.entries()[1].addresses, (TensorAddresses{&b, &a}));
  aclDestroyTensor(in_the_same_slot);
  aclDestroyAclOpExecutor(executor);
}

}  // namespace
}  // namespace canopy::nnopbase
