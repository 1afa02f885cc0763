// SPDX-License-Identifier: Apache-2.0
// An operator that writes down what it is run with, and the fixture of the tests that run it.
#ifndef CANOPY_TESTS_NNOPBASE_FAKE_RUN_H_
#define CANOPY_TESTS_NNOPBASE_FAKE_RUN_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "nnopbase/executor.h"
#include "tests/nnopbase/support.h"

namespace canopy::nnopbase {

// Outlives the operator, so that tests can look at it afterwards.
class Recorder {
 public:
  struct Entry {
    void* workspace;
    TensorAddresses addresses;
    bool saturate;
  };

  Recorder() { entries_.reserve(1000); }  // running allocates nothing

  // While closed, runs wait.
  void Close() { SetOpen(false); }
  void Open() { SetOpen(true); }
  void WaitUntilARunHasBegun() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return begun_ > 0; });
  }

  void WaitUntilNoOperatorIsAlive() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return operators_alive_ == 0; });
  }

  std::vector<Entry> entries() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return entries_;
  }
  int operators_alive() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return operators_alive_;
  }

  base::Status refusal;  // what Check answers
  int code = 0;          // what Run answers

 private:
  friend class FakeRun;

  void SetOpen(bool open) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;
  bool open_ = true;
  int begun_ = 0;
  int operators_alive_ = 0;
};

class FakeRun final : public OperatorRun {
 public:
  explicit FakeRun(Recorder* recorder) : recorder_(recorder) { Count(1); }
  ~FakeRun() override { Count(-1); }

  base::Status Check(const TensorAddresses&) const override { return recorder_->refusal; }

  int Run(void* workspace, const TensorAddresses& addresses, bool saturate) const noexcept override {
    std::unique_lock<std::mutex> lock(recorder_->mutex_);
    ++recorder_->begun_;
    recorder_->changed_.notify_all();
    recorder_->changed_.wait(lock, [this] { return recorder_->open_; });
    recorder_->entries_.push_back({workspace, addresses, saturate});
    return recorder_->code;
  }

 private:
  void Count(int change) {
    const std::lock_guard<std::mutex> lock(recorder_->mutex_);
    recorder_->operators_alive_ += change;
    recorder_->changed_.notify_all();
  }

  Recorder* const recorder_;
};

class RunningTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS); }
  static void TearDownTestSuite() { aclrtResetDevice(0); }

  RunningTest() { EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS); }
  ~RunningTest() override {
    recorder_.Open();
    aclrtSynchronizeStream(stream_);
    aclrtDestroyStream(stream_);
    TakeMessages();
  }

  aclOpExecutor* MakeExecutor(std::initializer_list<const aclTensor*> tensors = {}, uint64_t workspace_bytes = 0) {
    ExecutorSpec spec;
    spec.name = "aclnnFake";
    spec.run = std::make_shared<FakeRun>(&recorder_);
    spec.workspace_bytes = workspace_bytes;
    int i = 0;
    for (const aclTensor* tensor : tensors) spec.tensors[i++] = tensor;
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(CreateExecutor(spec, &executor), 0);
    return executor;
  }
  aclOpExecutor* MakeRepeatable(std::initializer_list<const aclTensor*> tensors = {}, uint64_t workspace_bytes = 0) {
    aclOpExecutor* executor = MakeExecutor(tensors, workspace_bytes);
    EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
    return executor;
  }

  aclnnStatus Run(aclOpExecutor* executor, void* workspace = nullptr, uint64_t workspace_bytes = 0) {
    return RunExecutor("aclnnFake", workspace, workspace_bytes, executor, stream_);
  }
  aclError Synchronize() { return aclrtSynchronizeStream(stream_); }

  // The first tensor's address in every run so far.
  std::vector<void*> FirstAddresses() {
    std::vector<void*> addresses;
    for (const Recorder::Entry& entry : recorder_.entries()) addresses.push_back(entry.addresses[0]);
    return addresses;
  }

  Recorder recorder_;
  aclrtStream stream_ = nullptr;
};

}  // namespace canopy::nnopbase

#endif  // CANOPY_TESTS_NNOPBASE_FAKE_RUN_H_
