// SPDX-License-Identifier: Apache-2.0
// aclInit and aclFinalize. They count; nothing else in the library asks whether they were called.
#include <mutex>
#include <optional>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/config.h"
#include "ascendcl/error_store.h"
#include "ascendcl/fork_locks.h"
#include "ascendcl/process_life.h"
#include "ascendcl/runtime.h"
#include "ascendcl/soc.h"

namespace canopy::ascendcl {
namespace {

struct InitState {
  std::mutex mutex;
  uint64_t count = 0;
  bool finalized = false;              // finalising before any aclInit is no mistake
  std::optional<Config> first_config;  // of the process
};

InitState& State() {
  static auto* const state = new InitState;
  return *state;
}

base::Status Apply(const Config& config) {
  Runtime& runtime = Runtime::Get();
  const RuntimeLock lock(runtime.mutex);
  if (config.default_device >= 0) {
    Device* device = nullptr;
    CANOPY_RETURN_IF_ERROR(FindDevice(config.default_device, &device));
  }
  runtime.default_device = config.default_device;
  KeepErrorsPerProcess(config.errors_per_process);
  return base::Status();
}

base::Status Init(const char* path) {
  InitState& state = State();
  const std::lock_guard guard(state.mutex);
  CANOPY_RETURN_IF_ERROR(CheckSoc());
  Config config;
  CANOPY_RETURN_IF_ERROR(ReadConfig(path, &config));
  if (state.first_config.has_value() && state.first_config->content != config.content) {
    return Refuse(ACL_ERROR_INVALID_PARAM,
                  "configPath has other content than at the first aclInit of the process; it must stay the same");
  }
  if (state.count > 0) {
    ++state.count;
    return Refuse(ACL_ERROR_REPEAT_INITIALIZE, "initialised already, %llu calls deep; this may be ignored",
                  static_cast<unsigned long long>(state.count));
  }
  CANOPY_RETURN_IF_ERROR(Apply(config));
  state.first_config = std::move(config);
  state.count = 1;
  state.finalized = false;
  return base::Status();
}

base::Status RefuseRepeat() { return Refuse(ACL_ERROR_REPEAT_FINALIZE, "finalised already; call aclInit first"); }

// REQUIRES the state's lock.
void End(InitState& state) {
  state.count = 0;
  state.finalized = true;
  RestThreads();
}

base::Status Finalize() {
  InitState& state = State();
  const std::lock_guard guard(state.mutex);
  if (state.finalized) return RefuseRepeat();
  End(state);
  return base::Status();
}

base::Status FinalizeReference(uint64_t* left) {
  InitState& state = State();
  const std::lock_guard guard(state.mutex);
  if (left != nullptr) *left = 0;
  if (state.count == 0) return RefuseRepeat();
  if (state.count == 1) {
    End(state);
  } else {
    --state.count;
  }
  if (left != nullptr) *left = state.count;
  return base::Status();
}

}  // namespace

void ForkInit(ForkStep step) { FollowFork(State().mutex, step); }

}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;

aclError aclInit(const char* configPath) {
  return ascendcl::Boundary("aclInit", [=] { return ascendcl::Init(configPath); });
}

aclError aclFinalize(void) { return ascendcl::Boundary("aclFinalize", ascendcl::Finalize); }

aclError aclFinalizeReference(uint64_t* refCount) {
  return ascendcl::Boundary("aclFinalizeReference", [=] { return ascendcl::FinalizeReference(refCount); });
}
