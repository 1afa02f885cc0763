// SPDX-License-Identifier: Apache-2.0
#include "tools/runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "tools/call_phases.h"

namespace canopy::tools {
namespace {

void Require(aclError status, const char* what) {
  if (status == ACL_SUCCESS) return;
  throw RuntimeFailure(std::string(what) + " gave " + std::to_string(status) + ": " + RecentMessage());
}

// The workspace of one run: exactly as large as asked for, nullptr where nothing is.
class Workspace {
 public:
  Workspace(uint64_t bytes, bool odd) : bytes_(bytes), guard_(odd ? kGuard : 0) {
    if (bytes_ == 0) return;
    memory_ = Allocate(bytes_ + 2 * guard_);
    std::memset(memory(), kGuardByte, guard_);
    std::memset(memory() + guard_ + bytes_, kGuardByte, guard_);
  }

  void* address() const { return bytes_ == 0 ? nullptr : memory() + guard_; }

  bool overrun() const {
    if (bytes_ == 0) return false;
    const auto clean = [](unsigned char byte) { return byte == kGuardByte; };
    const unsigned char* behind = memory() + guard_ + bytes_;
    return !std::all_of(memory(), memory() + guard_, clean) || !std::all_of(behind, behind + guard_, clean);
  }

 private:
  static constexpr uint64_t kGuard = 4097;
  static constexpr unsigned char kGuardByte = 0xA5;

  unsigned char* memory() const { return static_cast<unsigned char*>(memory_.get()); }

  uint64_t bytes_, guard_;
  DeviceMemory memory_;
};

}  // namespace

std::string RecentMessage() {
  const char* message = aclGetRecentErrMsg();
  return message == nullptr ? "(no message)" : message;
}

Runtime::Runtime() {
  Require(aclInit(nullptr), "aclInit");
  Require(aclrtSetDevice(0), "aclrtSetDevice(0)");
  Require(aclrtCreateStream(&stream_), "aclrtCreateStream");
}

Runtime::~Runtime() {
  aclrtDestroyStream(stream_);
  aclrtResetDevice(0);
  aclFinalize();
}

DeviceMemory Allocate(uint64_t bytes) {
  void* memory = nullptr;
  Require(aclrtMalloc(&memory, std::max<uint64_t>(bytes, 1), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  return DeviceMemory(memory);
}

Outcome RunCase(const Case& a_case, const Storages& storages, aclrtStream stream, const LaunchOptions& options) {
  Outcome outcome;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    aclOpExecutor* executor = nullptr;
    outcome.phase1 = CallHandles(a_case, storages).Phase1(&outcome.workspace_bytes, &executor);
    if (outcome.phase1 != 0) {
      outcome.message = RecentMessage();
      return outcome;
    }
    const Workspace workspace(outcome.workspace_bytes, options.odd_workspace);
    if (options.before_phase2) options.before_phase2();
    const auto start = std::chrono::steady_clock::now();
    outcome.phase2 = Phase2(a_case.op, workspace.address(), outcome.workspace_bytes, executor, stream);
    const int synchronised = aclrtSynchronizeStream(stream);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (options.after_synchronise) options.after_synchronise();
    outcome.workspace_overrun |= workspace.overrun();
    if (outcome.phase2 == 0) outcome.phase2 = synchronised;
    if (outcome.phase2 != 0) {
      outcome.message = RecentMessage();
      return outcome;
    }
    outcome.seconds = repeat == 0 ? seconds : std::min(outcome.seconds, seconds);
  }
  return outcome;
}

}  // namespace canopy::tools
