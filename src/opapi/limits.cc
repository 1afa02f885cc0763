// SPDX-License-Identifier: Apache-2.0
#include "opapi/limits.h"

#include <limits>
#include <string>

#include "opapi/require.h"
#include "opapi/text.h"

namespace canopy::opapi {
namespace {

using base::Status;

Status Exceeds(std::string_view what, int64_t value, const Limit& limit, const product::Product& product) {
  if (value >= limit.low && value <= limit.high) return {};
  return Refuse(
      what, Text(value),
      Text(limit.low, " to ", limit.high, " on ", ProductText(product), " (a documented limit of the device)"),
      kUnsupportedSize);
}

// What `quantity` is on one axis; both sides of a padding are looked at, the greater is given.
int64_t ValueOn(const Window& window, Quantity quantity) {
  switch (quantity) {
    case Quantity::kKernel:
      return window.kernel;
    case Quantity::kStride:
      return window.stride;
    case Quantity::kPadding:
      return window.pad_begin > window.pad_end ? window.pad_begin : window.pad_end;
    case Quantity::kDilation:
      return window.dilation;
    default: {  // kOverhang: how far the kernel reaches beyond the padding
      const base::Checked reach =
          base::Checked(window.dilation) * (base::Checked(window.kernel) - 1) - window.pad_begin;
      return reach.ok() ? reach.value() : std::numeric_limits<int64_t>::max();
    }
  }
}

std::string NameOn(const Limited& call, Quantity quantity, int64_t axis) {
  const char* axis_name = AxisName(call.spatial_rank, axis);
  switch (quantity) {
    case Quantity::kKernel:
      return Text(call.names[0], " extent ", axis + call.kernel_axis, " (", axis_name, ")");
    case Quantity::kOverhang:
      return Text("(", call.names[0], " extent ", axis + call.kernel_axis, " - 1) * ", call.names[3], "[", axis, "] - ",
                  call.names[2]);
    default:
      return Text(call.names[static_cast<int>(quantity)], " (", axis_name, ")");
  }
}

Status CheckExtents(const Limited& call, const Limit& limit, const product::Product& product) {
  for (const TensorArgument* tensor : call.tensors) {
    if (tensor == nullptr || !tensor->given()) continue;
    for (int64_t axis = 0; axis < tensor->rank(); ++axis) {
      CANOPY_RETURN_IF_ERROR(Exceeds(Text(tensor->name, " extent ", axis), tensor->dim(axis), limit, product));
    }
  }
  return {};
}

Status CheckAxes(const Limited& call, const Limit& limit, const product::Product& product) {
  for (int64_t axis = 0; axis < call.spatial_rank; ++axis) {
    if ((limit.axes >> (3 - call.spatial_rank + axis) & 1) == 0) continue;
    if (limit.quantity == Quantity::kMapExtent) {
      CANOPY_RETURN_IF_ERROR(
          Exceeds(Text(call.map->name, " extent ", axis + 2), call.map->dim(axis + 2), limit, product));
      continue;
    }
    const int64_t value = ValueOn(call.windows[axis], limit.quantity);
    CANOPY_RETURN_IF_ERROR(Exceeds(NameOn(call, limit.quantity, axis), value, limit, product));
  }
  return {};
}

}  // namespace

Status CheckLimits(std::span<const Limit> limits, const Limited& call, const product::Product& product) {
  for (const Limit& limit : limits) {
    if (limit.arch != product.arch || (limit.ranks >> (call.spatial_rank - 1) & 1) == 0) continue;
    if ((limit.directions & (call.transposed ? kTransposed : kPlain)) == 0) continue;
    if (limit.quantity == Quantity::kGroups) {
      CANOPY_RETURN_IF_ERROR(Exceeds("groups", call.groups, limit, product));
    } else if (limit.quantity == Quantity::kExtent) {
      CANOPY_RETURN_IF_ERROR(CheckExtents(call, limit, product));
    } else {
      CANOPY_RETURN_IF_ERROR(CheckAxes(call, limit, product));
    }
  }
  return {};
}

}  // namespace canopy::opapi
