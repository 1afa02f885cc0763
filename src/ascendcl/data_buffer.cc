// SPDX-License-Identifier: Apache-2.0
// Pairs of address and size.
#include <memory>
#include <mutex>
#include <utility>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/fork_locks.h"
#include "ascendcl/handle_table.h"

namespace canopy::ascendcl {
namespace {

struct Buffer {
  void* data = nullptr;
  size_t bytes = 0;
};

struct Buffers {
  std::mutex mutex;
  HandleTable<Buffer> table{0x5C04};
};

Buffers& TheBuffers() {
  static auto* const buffers = new Buffers;
  return *buffers;
}

base::Status RefuseBuffer(const void* handle) {
  if (handle == nullptr) return RefuseNull("dataBuffer");
  return Refuse(ACL_ERROR_INVALID_PARAM, "dataBuffer is %p, which is no living data buffer", handle);
}

// The buffer's content; nulls for no buffer.
Buffer Read(const aclDataBuffer* handle) noexcept {
  Buffers& buffers = TheBuffers();
  const std::lock_guard guard(buffers.mutex);
  const Buffer* buffer = buffers.table.Find(handle);
  return buffer != nullptr ? *buffer : Buffer();
}

}  // namespace

void ForkDataBuffers(ForkStep step) { FollowFork(TheBuffers().mutex, step); }

}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  void* handle = nullptr;
  ascendcl::Boundary("aclCreateDataBuffer", [&]() -> Status {
    auto buffer = std::make_unique<ascendcl::Buffer>(ascendcl::Buffer{data, size});
    ascendcl::Buffers& buffers = ascendcl::TheBuffers();
    const std::lock_guard guard(buffers.mutex);
    handle = buffers.table.Insert(buffer.get());
    if (handle == nullptr) return ascendcl::Refuse(ACL_ERROR_BAD_ALLOC, "too many data buffers");
    buffer.release();
    return Status();
  });
  return static_cast<aclDataBuffer*>(handle);
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return ascendcl::Boundary("aclDestroyDataBuffer", [=]() -> Status {
    ascendcl::Buffers& buffers = ascendcl::TheBuffers();
    const std::lock_guard guard(buffers.mutex);
    const std::unique_ptr<ascendcl::Buffer> buffer(buffers.table.Erase(dataBuffer));
    return buffer != nullptr ? Status() : ascendcl::RefuseBuffer(dataBuffer);
  });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return ascendcl::Boundary("aclUpdateDataBuffer", [=]() -> Status {
    ascendcl::Buffers& buffers = ascendcl::TheBuffers();
    const std::lock_guard guard(buffers.mutex);
    ascendcl::Buffer* buffer = buffers.table.Find(dataBuffer);
    if (buffer == nullptr) return ascendcl::RefuseBuffer(dataBuffer);
    *buffer = {data, size};
    return Status();
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) { return ascendcl::Read(dataBuffer).data; }

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return static_cast<uint32_t>(ascendcl::Read(dataBuffer).bytes);
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) { return ascendcl::Read(dataBuffer).bytes; }
