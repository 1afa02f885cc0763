// SPDX-License-Identifier: Apache-2.0
#include "opapi/memory_check.h"

#include "ascendcl/memory_blocks.h"
#include "opapi/dtypes.h"
#include "opapi/require.h"
#include "opapi/text.h"

namespace canopy::opapi {
namespace {

// Bytes from the storage base to the first byte that the view touches, and to one past the last.
struct Reach {
  int64_t begin;
  int64_t end;
};

Reach ReachOf(const TensorArgument& tensor) {
  int64_t low = tensor.view.offset, high = tensor.view.offset;
  for (int64_t axis = 0; axis < tensor.rank(); ++axis) {
    const int64_t span = (tensor.dim(axis) - 1) * tensor.view.strides[axis];
    (span < 0 ? low : high) += span;
  }
  const int64_t bytes = numerics::ElementBytes(ToDType(tensor.view.dtype));
  return {low * bytes, (high + 1) * bytes};
}

}  // namespace

base::Status CheckMemory(const TensorArgument& tensor, bool only_device) {
  if (tensor.empty() || tensor.view.data == nullptr) return {};
  ascendcl::MemoryBlock block;
  const bool found = ascendcl::FindMemoryBlock(tensor.view.data, &block);
  if (only_device && (!found || !block.device)) {
    return Refuse(Text(tensor.name, " data"), found ? "memory of the host" : "memory that is not the device's",
                  "what aclrtMalloc returned, under CANOPY_CHECK=device");
  }
  if (!found) return {};
  const Reach reach = ReachOf(tensor);
  const int64_t before = static_cast<const char*>(tensor.view.data) - static_cast<const char*>(block.base);
  const int64_t behind = static_cast<int64_t>(block.bytes) - before;
  if (reach.begin >= -before && reach.end <= behind) return {};
  return Refuse(Text(tensor.name, " data"),
                Text("a view of bytes ", reach.begin, " to ", reach.end, " from the pointer"),
                Text(-before, " to ", behind, ", the block of ", block.bytes, " bytes that the pointer lies in"));
}

}  // namespace canopy::opapi
