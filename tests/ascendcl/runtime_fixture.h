// SPDX-License-Identifier: Apache-2.0
// What most tests of the runtime need: a device in use, streams that are destroyed, work that can be held up.
#ifndef CANOPY_TESTS_ASCENDCL_RUNTIME_FIXTURE_H_
#define CANOPY_TESTS_ASCENDCL_RUNTIME_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "acl/acl.h"
#include "ascendcl/task.h"

namespace canopy::ascendcl {

// The texts of this thread's failures; "" for none.
inline std::string RecentErrors() {
  const char* text = aclGetRecentErrMsg();
  return text != nullptr ? text : "";
}

// Something that another thread passes only when it is open. Copies are the same gate: what is queued behind one may
// outlive the test's own.
class Gate {
 public:
  void Open() const {
    const std::lock_guard guard(state_->mutex);
    state_->open = true;
    state_->changed.notify_all();
  }
  void Pass() const {
    std::unique_lock lock(state_->mutex);
    state_->reached = true;
    state_->changed.notify_all();
    state_->changed.wait(lock, [this] { return state_->open; });
  }
  // Until some thread stands at the gate.
  void AwaitArrival() const {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return state_->reached; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    bool reached = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline TaskLength LengthInTurn(uint32_t i) { return static_cast<TaskLength>(i % 3); }

// Work for a stream, which frees itself.
class TestTask : public Task {
 public:
  TestTask(std::function<aclError()> run, TaskLength run_length) : run_(std::move(run)) { length = run_length; }
  aclError Run() noexcept override { return run_(); }
  void Finished() noexcept override { delete this; }

 private:
  std::function<aclError()> run_;
};

// Queues work; the test fails where that is refused.
inline void Queue(aclrtStream stream, std::function<aclError()> run, TaskLength length = TaskLength::kLong) {
  auto* task = new TestTask(std::move(run), length);
  const aclError error = Submit(stream, task);
  if (error != ACL_SUCCESS) delete task;
  ASSERT_EQ(error, ACL_SUCCESS) << RecentErrors();
}

// Queues work that holds the stream (and, being no host call, its device's dispatcher) up until the gate opens.
inline void QueueGate(aclrtStream stream, const Gate& gate) {
  Queue(stream, [gate] {
    gate.Pass();
    return ACL_SUCCESS;
  });
}

// Queues a host call that holds its stream up, and nothing else.
inline void QueueHostGate(aclrtStream stream, const Gate& gate) {
  const auto pass = [](void* argument) {
    const std::unique_ptr<Gate> copy(static_cast<Gate*>(argument));
    copy->Pass();
  };
  ASSERT_EQ(aclrtLaunchHostFunc(stream, pass, new Gate(gate)), ACL_SUCCESS);
}

// Device 0 in use. What a test leaves behind goes with it.
class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << RecentErrors();
    RecentErrors();
    aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS) << RecentErrors();
    RecentErrors();
  }

  static aclrtStream NewStream() {
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS) << RecentErrors();
    return stream;
  }
  static aclrtEvent NewEvent() {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS) << RecentErrors();
    return event;
  }
};

// The call is refused with this code, and the message names what it should.
#define EXPECT_REFUSED(call, code, word)                                                  \
  do {                                                                                    \
    ::canopy::ascendcl::RecentErrors();                                                   \
    EXPECT_EQ(call, code);                                                                \
    const std::string canopy_text_ = ::canopy::ascendcl::RecentErrors();                  \
    EXPECT_NE(canopy_text_.find(word), std::string::npos) << "message: " << canopy_text_; \
  } while (false)

// Addresses that were never handles: the first page, the stack, the heap, all ones, and text.
inline void* const kGarbage[] = {reinterpret_cast<void*>(0x1), reinterpret_cast<void*>(0x7ffdeadbeef0),
                                 reinterpret_cast<void*>(~uintptr_t{0}), reinterpret_cast<void*>(0x6d756e67206f6c6cULL),
                                 reinterpret_cast<void*>(0x5c02ffffffffffffULL)};

}  // namespace canopy::ascendcl

#endif  // CANOPY_TESTS_ASCENDCL_RUNTIME_FIXTURE_H_
