// SPDX-License-Identifier: Apache-2.0
// The options of a context, which are remembered, and those of the process, which the operators read.
#include <array>
#include <atomic>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/process_options.h"
#include "ascendcl/runtime.h"

namespace canopy::ascendcl {
namespace {

constexpr int kContextOptions = 3;
constexpr int kProcessOptions = 4;
constexpr int kStrongConsistency = 2;  // the enumerator is deprecated, and using it would warn

std::array<std::atomic<int64_t>, kProcessOptions> process_options{};

base::Status CheckOption(int option, int count) {
  if (option >= 0 && option < count) return base::Status();
  return Refuse(ACL_ERROR_INVALID_PARAM, "opt is %d; allowed are 0 to %d", option, count - 1);
}

base::Status CheckValue(int option, int64_t value) {
  const int64_t highest = option == ACL_OPT_DETERMINISTIC ? 3 : 1;
  if (value >= 0 && value <= highest) return base::Status();
  return Refuse(ACL_ERROR_RT_PARAM_INVALID, "value is %lld; allowed for option %d are 0 to %lld",
                static_cast<long long>(value), option, static_cast<long long>(highest));
}

base::Status SetContextOption(int option, int64_t value) {
  CANOPY_RETURN_IF_ERROR(CheckOption(option, kContextOptions));
  CANOPY_RETURN_IF_ERROR(CheckValue(option, value));
  const RuntimeLock lock(Runtime::Get().mutex);
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(CurrentContext(&context));
  context->options[option] = value;
  return base::Status();
}

base::Status GetContextOption(int option, int64_t* value) {
  CANOPY_RETURN_IF_ERROR(CheckOption(option, kContextOptions));
  if (value == nullptr) return RefuseNull("value");
  const RuntimeLock lock(Runtime::Get().mutex);
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(CurrentContext(&context));
  if (!context->options[option].has_value()) {
    return Refuse(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "option %d was never set in this context", option);
  }
  *value = *context->options[option];
  return base::Status();
}

}  // namespace

int64_t DeterministicLevel() noexcept {
  const int64_t level = process_options[ACL_OPT_DETERMINISTIC].load(std::memory_order_relaxed);
  const bool strong = process_options[kStrongConsistency].load(std::memory_order_relaxed) != 0;
  return level == 1 && strong ? 2 : level;
}

}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return ascendcl::Boundary("aclrtCtxSetSysParamOpt", [=] { return ascendcl::SetContextOption(opt, value); });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return ascendcl::Boundary("aclrtCtxGetSysParamOpt", [=] { return ascendcl::GetContextOption(opt, value); });
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return ascendcl::Boundary("aclrtSetSysParamOpt", [=]() -> Status {
    CANOPY_RETURN_IF_ERROR(ascendcl::CheckOption(opt, ascendcl::kProcessOptions));
    CANOPY_RETURN_IF_ERROR(ascendcl::CheckValue(opt, value));
    ascendcl::process_options[opt].store(value, std::memory_order_relaxed);
    return Status();
  });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return ascendcl::Boundary("aclrtGetSysParamOpt", [=]() -> Status {
    CANOPY_RETURN_IF_ERROR(ascendcl::CheckOption(opt, ascendcl::kProcessOptions));
    if (value == nullptr) return ascendcl::RefuseNull("value");
    *value = ascendcl::process_options[opt].load(std::memory_order_relaxed);
    return Status();
  });
}
