// SPDX-License-Identifier: Apache-2.0
#include "opapi/require.h"

#include <algorithm>

#include "base/checked_math.h"
#include "numerics/dtype.h"
#include "opapi/dtypes.h"
#include "opapi/text.h"

namespace canopy::opapi {
namespace {

using base::Checked;
using base::Status;

Status RefuseNull(const char* name, const char* allowed) { return Refuse(name, "NULL", allowed, kNullPointer); }

Status RefuseStale(const char* name, const char* kind) {
  return Refuse(name, "a handle that is destroyed or was never created", Text("a living ", kind));
}

std::string ShapeText(const TensorArgument& tensor) {
  return ListText(tensor.view.dims, std::min<int64_t>(tensor.rank(), nnopbase::kMaxRank));
}

Checked Magnitude(int64_t value) { return value < 0 ? Checked(0) - value : Checked(value); }

}  // namespace

Status Refuse(std::string_view argument, std::string_view was, std::string_view allowed, int code) {
  return {code, Text(argument, ": was ", was, "; allowed is ", allowed)};
}

std::string ProductText(const product::Product& product) {
  return Text(product.soc_name, " (", product.series_name, ")");
}

Status RefuseProduct(const product::Product& product, bool (*offers)(const product::Product&)) {
  std::string offering;
  for (const char* name : product::kChipOfSeries) {
    const product::Product& other = *product::FindProduct(name);
    if (offers(other)) offering += Text(offering.empty() ? "" : ", ", ProductText(other));
  }
  return Refuse("CANOPY_SOC", ProductText(product), Text("a product that offers this operator, such as ", offering));
}

Status RequireResults(const ResultPointers& results) {
  if (!results.workspace_size) return RefuseNull("workspaceSize", "where to put a number");
  if (!results.executor) return RefuseNull("executor", "where to put a handle");
  return {};
}

Status RequireGiven(const TensorArgument& tensor) {
  return tensor.given() ? Status() : RefuseNull(tensor.name, "a tensor");
}
Status RequireGiven(const IntArrayArgument& array) {
  return array.given() ? Status() : RefuseNull(array.name, "an array of integers");
}
Status RequireGiven(const BoolArrayArgument& array) {
  return array.given() ? Status() : RefuseNull(array.name, "an array of booleans");
}

Status RequireLive(std::initializer_list<const TensorArgument*> tensors,
                   std::initializer_list<const IntArrayArgument*> int_arrays) {
  for (const TensorArgument* tensor : tensors) {
    if (tensor->state == Handle::kStale) return RefuseStale(tensor->name, "tensor");
  }
  for (const IntArrayArgument* array : int_arrays) {
    if (array->state == Handle::kStale) return RefuseStale(array->name, "array of integers");
  }
  return {};
}
Status RequireLive(const BoolArrayArgument& array) {
  return array.state == Handle::kStale ? RefuseStale(array.name, "array of booleans") : Status();
}

Status RequireDType(const TensorArgument& tensor, DTypeSet allowed, const product::Product& product) {
  if (!tensor.given() || allowed.Has(tensor.view.dtype)) return {};
  return Refuse(Text(tensor.name, " type"), Name(tensor.view.dtype),
                Text(Names(allowed), " on ", ProductText(product)));
}

Status RequireSameDType(const TensorArgument& tensor, const TensorArgument& like) {
  if (!tensor.given() || tensor.view.dtype == like.view.dtype) return {};
  return Refuse(Text(tensor.name, " type"), Name(tensor.view.dtype),
                Text("that of ", like.name, ", ", Name(like.view.dtype)));
}

Status RequireFormat(const TensorArgument& tensor, FormatSet allowed) {
  if (!tensor.given() || allowed.Has(tensor.view.format)) return {};
  return Refuse(Text(tensor.name, " format"), Name(tensor.view.format),
                Text(Names(allowed), " for rank ", tensor.rank()));
}

Status RequireRank(const TensorArgument& tensor, int64_t rank) { return RequireRankBetween(tensor, rank, rank); }

Status RequireRankBetween(const TensorArgument& tensor, int64_t low, int64_t high) {
  if (!tensor.given() || (tensor.rank() >= low && tensor.rank() <= high)) return {};
  return Refuse(Text(tensor.name, " rank"), Text(tensor.rank()), low == high ? Text(low) : Text(low, " to ", high));
}

Status RequireSaneExtents(const TensorArgument& tensor) {
  if (!tensor.given()) return {};
  CANOPY_RETURN_IF_ERROR(RequireRankBetween(tensor, 0, nnopbase::kMaxRank));
  Checked count(1);
  Checked span = Magnitude(tensor.view.offset) + 1;
  for (int64_t axis = 0; axis < tensor.rank(); ++axis) {
    const int64_t extent = tensor.dim(axis);
    if (extent < 0) return Refuse(Text(tensor.name, " extent ", axis), Text(extent), "0 or more");
    count = count * extent;
    if (extent > 1) span = span + Checked(extent - 1) * Magnitude(tensor.view.strides[axis]);
  }
  const int64_t bytes = numerics::ElementBytes(ToDType(tensor.view.dtype));
  if (tensor.empty() || ((count * bytes).ok() && (span * bytes).ok())) return {};
  return Refuse(Text(tensor.name, " shape"), ShapeText(tensor), "a view whose bytes can be counted in 64 bits");
}

Status RequireExtent(const TensorArgument& tensor, int64_t axis, int64_t allowed, std::string_view because) {
  if (!tensor.given() || tensor.dim(axis) == allowed) return {};
  return Refuse(Text(tensor.name, " extent ", axis), Text(tensor.dim(axis)), Text(allowed, ", ", because));
}

Status RequireSameShape(const TensorArgument& tensor, const TensorArgument& like) {
  if (!tensor.given()) return {};
  bool same = tensor.rank() == like.rank();
  for (int64_t axis = 0; same && axis < like.rank() && axis < nnopbase::kMaxRank; ++axis) {
    same = tensor.dim(axis) == like.dim(axis);
  }
  if (same) return {};
  return Refuse(Text(tensor.name, " shape"), ShapeText(tensor), Text("that of ", like.name, ", ", ShapeText(like)));
}

Status RequireNotEmpty(const TensorArgument& tensor) {
  if (!tensor.empty()) return {};
  return Refuse(Text(tensor.name, " shape"), ShapeText(tensor), "one without an extent of 0");
}

Status RequireLength(const IntArrayArgument& array, std::initializer_list<int64_t> allowed, std::string_view because) {
  if (!array.given()) return {};
  std::string lengths;
  for (int64_t length : allowed) {
    if (array.size() == length) return {};
    lengths += Text(lengths.empty() ? "" : " or ", length);
  }
  return Refuse(Text(array.name, " length"), Text(array.size()), Text(lengths, ", ", because));
}

Status RequireAtLeast(const IntArrayArgument& array, int64_t low) {
  for (int64_t i = 0; i < array.visible(); ++i) {
    if (array[i] < low) return Refuse(Text(array.name, "[", i, "]"), Text(array[i]), Text(low, " or more"));
  }
  return {};
}

Status RequireAtLeast(const char* name, int64_t value, int64_t low) {
  return value >= low ? Status() : Refuse(name, Text(value), Text(low, " or more"));
}

}  // namespace canopy::opapi
