// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/stream_config.h"

#include <cstring>
#include <mutex>
#include <unordered_set>

#include "ascendcl/boundary.h"
#include "ascendcl/fork_locks.h"

namespace canopy::ascendcl {
namespace {

// The one handle that is a real address, since its structure is public: known by address.
class ConfigHandles {
 public:
  static ConfigHandles& Get() {
    static auto* const handles = new ConfigHandles;
    return *handles;
  }

  std::mutex& mutex() { return mutex_; }

  aclrtStreamConfigHandle* Create() {
    const std::lock_guard guard(mutex_);
    auto* handle = new aclrtStreamConfigHandle{};
    try {
      living_.insert(handle);
    } catch (...) {
      delete handle;
      throw;
    }
    return handle;
  }

  bool Knows(const aclrtStreamConfigHandle* handle) {
    const std::lock_guard guard(mutex_);
    return living_.count(handle) != 0;
  }

  bool Destroy(const aclrtStreamConfigHandle* handle) {
    const std::lock_guard guard(mutex_);
    if (living_.erase(handle) == 0) return false;
    delete handle;
    return true;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<const aclrtStreamConfigHandle*> living_;
};

}  // namespace

void ForkStreamConfigs(ForkStep step) { FollowFork(ConfigHandles::Get().mutex(), step); }

base::Status CheckConfigHandle(const aclrtStreamConfigHandle* handle) {
  if (handle == nullptr) return RefuseNull("handle");
  if (ConfigHandles::Get().Knows(handle)) return base::Status();
  return Refuse(ACL_ERROR_RT_INVALID_HANDLE, "handle is %p, which is no living stream configuration",
                static_cast<const void*>(handle));
}

namespace {

// Where the attribute lives in the handle, and its size; nullptr for no attribute.
void* FieldOf(aclrtStreamConfigHandle& handle, aclrtStreamConfigAttr attribute, size_t* bytes) {
  switch (attribute) {
    case ACL_RT_STREAM_WORK_ADDR_PTR:
      *bytes = sizeof(handle.workptr);
      return &handle.workptr;
    case ACL_RT_STREAM_WORK_SIZE:
      *bytes = sizeof(handle.workSize);
      return &handle.workSize;
    case ACL_RT_STREAM_FLAG:
      *bytes = sizeof(handle.flag);
      return &handle.flag;
    case ACL_RT_STREAM_PRIORITY:
      *bytes = sizeof(handle.priority);
      return &handle.priority;
  }
  return nullptr;
}

base::Status SetConfigOption(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr attribute, const void* value,
                             size_t value_bytes) {
  CANOPY_RETURN_IF_ERROR(CheckConfigHandle(handle));
  if (value == nullptr) return RefuseNull("attrValue");
  size_t bytes = 0;
  void* const field = FieldOf(*handle, attribute, &bytes);
  if (field == nullptr) {
    return Refuse(ACL_ERROR_INVALID_PARAM, "attr is %d; allowed are 0 to 3", static_cast<int>(attribute));
  }
  if (value_bytes != bytes) {
    return Refuse(ACL_ERROR_INVALID_PARAM, "valueSize is %zu; attribute %d has %zu bytes", value_bytes,
                  static_cast<int>(attribute), bytes);
  }
  std::memcpy(field, value, bytes);
  return base::Status();
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle(void) {
  aclrtStreamConfigHandle* handle = nullptr;
  ascendcl::Boundary("aclrtCreateStreamConfigHandle", [&]() -> Status {
    handle = ascendcl::ConfigHandles::Get().Create();
    return Status();
  });
  return handle;
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle) {
  return ascendcl::Boundary("aclrtDestroyStreamConfigHandle", [=]() -> Status {
    CANOPY_RETURN_IF_ERROR(ascendcl::CheckConfigHandle(handle));
    ascendcl::ConfigHandles::Get().Destroy(handle);
    return Status();
  });
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr attr, const void* attrValue,
                                 size_t valueSize) {
  return ascendcl::Boundary("aclrtSetStreamConfigOpt",
                            [=] { return ascendcl::SetConfigOption(handle, attr, attrValue, valueSize); });
}
