// SPDX-License-Identifier: Apache-2.0
// Makes a case's call exactly as a program of CANN would: device memory, tensor handles, both phases, synchronise.
#ifndef CANOPY_TOOLS_RUNNER_H_
#define CANOPY_TOOLS_RUNNER_H_

#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "acl/acl.h"
#include "tools/case.h"

namespace canopy::tools {

// A call of the runtime that should have worked did not.
class RuntimeFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Why this thread's last refused call was refused.
std::string RecentMessage();

// Initialises the runtime and a device, makes a stream; undoes it all. Throws RuntimeFailure.
class Runtime {
 public:
  Runtime();
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  aclrtStream stream() const { return stream_; }

 private:
  aclrtStream stream_ = nullptr;
};

struct DeviceFree {
  void operator()(void* memory) const { aclrtFree(memory); }
};
using DeviceMemory = std::unique_ptr<void, DeviceFree>;

// Throws RuntimeFailure when there is no memory. At least one byte.
DeviceMemory Allocate(uint64_t bytes);

// One storage for each tensor of a case that is present.
using Storages = std::array<DeviceMemory, kCallTensors>;

struct LaunchOptions {
  int repeats = 1;
  bool odd_workspace = false;  // at an odd address, between guard bytes that are checked afterwards
  // Called around phase 2 and the synchronisation of every repeat.
  std::function<void()> before_phase2 = nullptr;
  std::function<void()> after_synchronise = nullptr;
};

struct Outcome {
  int phase1 = 0;
  int phase2 = 0;  // of the second call or of the synchronisation, whichever failed first
  std::string message;
  uint64_t workspace_bytes = 0;
  bool workspace_overrun = false;  // a guard byte was written
  double seconds = 0;              // phase 2 and synchronisation, the fastest of the repeats
};

Outcome RunCase(const Case& a_case, const Storages& storages, aclrtStream stream, const LaunchOptions& options = {});

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_RUNNER_H_
