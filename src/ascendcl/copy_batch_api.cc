// SPDX-License-Identifier: Apache-2.0
// Many copies in one call.
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/copy_checks.h"
#include "ascendcl/function_task.h"

namespace canopy::ascendcl {
namespace {

struct Batch {
  void** dsts;
  size_t* rooms;
  void** srcs;
  size_t* sizes;
  size_t count;
  aclrtMemcpyBatchAttr* attributes;
  size_t* attribute_starts;
  size_t attribute_count;
  size_t* fail_index;
};

struct BatchEntry {
  void* dst;
  const void* src;
  size_t bytes;
};

base::Status CheckLocation(const aclrtMemLocation& location, const char* name, size_t attribute) {
  if (location.type == ACL_MEM_LOCATION_TYPE_HOST || location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
    return base::Status();
  }
  return Refuse(ACL_ERROR_RT_PARAM_INVALID, "attrs[%zu].%s.type is %d; allowed are HOST (0) and DEVICE (1)", attribute,
                name, static_cast<int>(location.type));
}

base::Status CheckAttributes(const Batch& batch) {
  if (batch.attribute_count == 0 || batch.attribute_count > batch.count) {
    return Refuse(ACL_ERROR_INVALID_PARAM, "numAttrs is %zu; allowed are 1 to numBatches, which is %zu",
                  batch.attribute_count, batch.count);
  }
  for (size_t i = 0; i < batch.attribute_count; ++i) {
    const size_t start = batch.attribute_starts[i];
    const bool in_order = i == 0 ? start == 0 : start > batch.attribute_starts[i - 1] && start < batch.count;
    if (!in_order) {
      return Refuse(ACL_ERROR_RT_PARAM_INVALID,
                    "attrsIndexes[%zu] is %zu; the first must be 0 and each above the one before, below numBatches", i,
                    start);
    }
    CANOPY_RETURN_IF_ERROR(CheckLocation(batch.attributes[i].dstLoc, "dstLoc", i));
    CANOPY_RETURN_IF_ERROR(CheckLocation(batch.attributes[i].srcLoc, "srcLoc", i));
  }
  return base::Status();
}

base::Status CheckLists(const Batch& batch) {
  const std::pair<const void*, const char*> lists[] = {
      {batch.dsts, "dsts"},   {batch.rooms, "destMaxs"},   {batch.srcs, "srcs"},
      {batch.sizes, "sizes"}, {batch.attributes, "attrs"}, {batch.attribute_starts, "attrsIndexes"}};
  for (const auto& [list, name] : lists) {
    if (list == nullptr) return RefuseNull(name);
  }
  if (batch.count == 0) return Refuse(ACL_ERROR_INVALID_PARAM, "numBatches is 0; it must be above 0");
  return CheckAttributes(batch);
}

// The copies to make, all of them checked.
base::Status ReadBatch(const Batch& batch, std::vector<BatchEntry>* entries) {
  if (batch.fail_index == nullptr) return RefuseNull("failIndex");
  *batch.fail_index = SIZE_MAX;
  CANOPY_RETURN_IF_ERROR(CheckLists(batch));
  entries->reserve(batch.count);
  for (size_t i = 0; i < batch.count; ++i) {
    *batch.fail_index = i;
    CANOPY_RETURN_IF_ERROR(CheckPointers(batch.dsts[i], batch.srcs[i]));
    CANOPY_RETURN_IF_ERROR(CheckFits("an entry of sizes", batch.sizes[i], "its destMaxs", batch.rooms[i]));
    entries->push_back({batch.dsts[i], batch.srcs[i], batch.sizes[i]});
  }
  *batch.fail_index = SIZE_MAX;
  return base::Status();
}

void CopyAll(const std::vector<BatchEntry>& entries) {
  for (const BatchEntry& entry : entries) std::memmove(entry.dst, entry.src, entry.bytes);
}

base::Status CopyNow(const Batch& batch) {
  std::vector<BatchEntry> entries;
  CANOPY_RETURN_IF_ERROR(ReadBatch(batch, &entries));
  CANOPY_RETURN_IF_ERROR(CheckContext());
  CopyAll(entries);
  return base::Status();
}

base::Status CopyLater(const Batch& batch, aclrtStream stream) {
  std::vector<BatchEntry> entries;
  CANOPY_RETURN_IF_ERROR(ReadBatch(batch, &entries));
  size_t bytes = 0;
  bool wait = false;
  for (const BatchEntry& entry : entries) {
    bytes += entry.bytes;
    wait = wait || IsPlainHostMemory(entry.dst) || IsPlainHostMemory(entry.src);
  }
  return QueueTask(stream, MakeTask(bytes, [entries = std::move(entries)] { CopyAll(entries); }), wait);
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;

aclError aclrtMemcpyBatch(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                          aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs, size_t* failIndex) {
  return ascendcl::Boundary("aclrtMemcpyBatch", [=] {
    return ascendcl::CopyNow({dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, failIndex});
  });
}

aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                               aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs, size_t* failIndex,
                               aclrtStream stream) {
  return ascendcl::Boundary("aclrtMemcpyBatchAsync", [=] {
    return ascendcl::CopyLater({dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, failIndex},
                               stream);
  });
}
