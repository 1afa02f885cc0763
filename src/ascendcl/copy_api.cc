// SPDX-License-Identifier: Apache-2.0
// Copies of one block and of rows.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/copy_checks.h"
#include "ascendcl/function_task.h"

namespace canopy::ascendcl {
namespace {

struct Copy {
  void* dst;
  size_t room;
  const void* src;
  size_t count;
  aclrtMemcpyKind kind;

  base::Status Check() const {
    CANOPY_RETURN_IF_ERROR(CheckPointers(dst, src));
    CANOPY_RETURN_IF_ERROR(CheckKind(kind, ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE));
    return CheckFits("count", count, "destMax", room);
  }
  void Do() const { std::memmove(dst, src, count); }
};

struct RowCopy {
  void* dst;
  size_t dst_pitch;
  const void* src;
  size_t src_pitch;
  size_t width;
  size_t height;
  aclrtMemcpyKind kind;

  bool empty() const { return width == 0 || height == 0; }
  base::Status Check() const {
    CANOPY_RETURN_IF_ERROR(CheckPointers(dst, src));
    CANOPY_RETURN_IF_ERROR(CheckKind(kind, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEFAULT));
    if (width > dst_pitch || width > src_pitch) {
      return Refuse(ACL_ERROR_INVALID_PARAM, "width is %zu bytes; at most dpitch (%zu) and spitch (%zu) are allowed",
                    width, dst_pitch, src_pitch);
    }
    const size_t most_rows = SIZE_MAX / std::max(dst_pitch, src_pitch);
    if (height <= most_rows) return base::Status();
    return Refuse(ACL_ERROR_INVALID_PARAM,
                  "height is %zu; at most %zu rows of dpitch (%zu) and spitch (%zu) can be counted", height, most_rows,
                  dst_pitch, src_pitch);
  }
  void Do() const {
    for (size_t row = 0; row < height; ++row) {
      std::memmove(static_cast<char*>(dst) + row * dst_pitch, static_cast<const char*>(src) + row * src_pitch, width);
    }
  }
};

base::Status CopyNow(const Copy& copy) {
  if (copy.count == 0) return base::Status();
  CANOPY_RETURN_IF_ERROR(copy.Check());
  if (copy.dst == copy.src) return base::Status();
  CANOPY_RETURN_IF_ERROR(CheckContext());
  copy.Do();
  return base::Status();
}

base::Status CopyLater(const Copy& copy, aclrtStream stream) {
  if (copy.count == 0) return base::Status();
  CANOPY_RETURN_IF_ERROR(copy.Check());
  if (copy.dst == copy.src) return base::Status();
  const bool wait = IsPlainHostMemory(copy.dst) || IsPlainHostMemory(copy.src);
  return QueueTask(stream, MakeTask(copy.count, [copy] { copy.Do(); }), wait);
}

base::Status CopyRowsNow(const RowCopy& copy) {
  if (copy.empty()) return base::Status();
  CANOPY_RETURN_IF_ERROR(copy.Check());
  CANOPY_RETURN_IF_ERROR(CheckContext());
  copy.Do();
  return base::Status();
}

base::Status CopyRowsLater(const RowCopy& copy, aclrtStream stream) {
  if (copy.empty()) return base::Status();
  CANOPY_RETURN_IF_ERROR(copy.Check());
  const bool wait = IsPlainHostMemory(copy.dst) || IsPlainHostMemory(copy.src);
  return QueueTask(stream, MakeTask(copy.width * copy.height, [copy] { copy.Do(); }), wait);
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  return ascendcl::Boundary("aclrtMemcpy", [=] { return ascendcl::CopyNow({dst, destMax, src, count, kind}); });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return ascendcl::Boundary("aclrtMemcpyAsync", [=] {
    return ascendcl::CopyLater({dst, destMax, src, count, kind}, stream);
  });
}

aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                                       aclrtStream stream) {
  return ascendcl::Boundary("aclrtMemcpyAsyncWithCondition", [=] {
    return ascendcl::CopyLater({dst, destMax, src, count, kind}, stream);
  });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
  return ascendcl::Boundary("aclrtMemcpy2d", [=] {
    return ascendcl::CopyRowsNow({dst, dpitch, src, spitch, width, height, kind});
  });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream) {
  return ascendcl::Boundary("aclrtMemcpy2dAsync", [=] {
    return ascendcl::CopyRowsLater({dst, dpitch, src, spitch, width, height, kind}, stream);
  });
}
