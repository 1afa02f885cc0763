// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "opapi/convolution/rules.h"
#include "opapi/convolution/support.h"
#include "opapi/require.h"
#include "opapi/text.h"

namespace canopy::opapi::convolution {

using base::Checked;
using base::Status;
using product::Product;

Window WindowOn(const Arguments& a, int64_t axis) {
  Window window = WindowOf(a.weight, a.stride, a.padding, a.dilation, axis);
  if (a.transposed) window.output_padding = a.output_padding[axis];
  return window;
}

Status KernelNotEmpty(const Arguments& a, const Product& product) {
  if (a.transposed && SupportOf(product).empty_transposed == kWeightExtents) return {};
  for (int64_t axis = 2; axis < a.weight.rank(); ++axis) {
    if (a.weight.dim(axis) == 0) return Refuse(Text(a.weight.name, " extent ", axis), "0", "1 or more");
  }
  return {};
}

Status KernelFits(const Arguments& a, const Product&) {
  if (a.transposed || a.input.empty()) return {};
  for (int64_t axis = 0; axis < a.spatial_rank(); ++axis) {
    const Window window = WindowOn(a, axis);
    const int64_t extent = a.input.dim(axis + 2);
    const Checked slack = Slack(extent, window);
    if (slack.ok() && slack.value() >= 0) continue;
    return Refuse(Text(a.input.name, " extent ", axis + 2, " (", AxisName(a.spatial_rank(), axis), ")"), Text(extent),
                  Text("one that the kernel fits in after padding; ", a.output.name, " would be ",
                       WindowCountText(extent, window)));
  }
  return {};
}

Status Channels(const Arguments& a, const Product&) {
  if (a.transposed) return RequireExtent(a.weight, 0, a.input.dim(1), "input's channels");
  const Checked channels = Checked(a.weight.dim(1)) * a.groups;
  if (channels.ok() && channels.value() == a.input.dim(1)) return {};
  return Refuse("weight extent 1", Text(a.weight.dim(1)),
                Text("input's channels / groups = ", a.input.dim(1), " / ", a.groups));
}

Status OutputPaddingRange(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireAtLeast(a.output_padding, 0));
  for (int64_t axis = 0; axis < a.spatial_rank(); ++axis) {
    if (a.output_padding[axis] < std::max(a.stride[axis], a.dilation[axis])) continue;
    return Refuse(Text("outputPadding[", axis, "]"), Text(a.output_padding[axis]),
                  Text("below the greater of stride[", axis, "], ", a.stride[axis], ", and dilation[", axis, "], ",
                       a.dilation[axis]));
  }
  return {};
}

Status GroupsDivide(const Arguments& a, const Product&) {
  if (a.weight.dim(0) % a.groups == 0) return {};
  return Refuse("groups", Text(a.groups), Text("a divisor of weight extent 0, ", a.weight.dim(0)));
}

Status TransposedChannels(const Arguments& a, const Product&) {
  return a.input.dim(1) != 0 ? Status() : Refuse("input extent 1", "0", "1 or more where transposed is true");
}

Status TransposedEmpty(const Arguments& a, const Product& product) {
  if (SupportOf(product).empty_transposed != kWeightExtents) return {};
  for (int64_t axis = 2; axis < a.input.rank(); ++axis) {
    if (a.input.dim(axis) == 0)
      return Refuse(Text(a.input.name, " extent ", axis), "0", "1 or more where transposed is true");
    if (a.weight.dim(axis) != 0 || a.output.dim(axis) == 0) continue;
    return Refuse(Text(a.output.name, " extent ", axis), Text(a.output.dim(axis)), "0 where weight's is 0");
  }
  return {};
}

namespace {

// The output's spatial extent. Of an empty input it is the quotient rounded toward zero: that only decides which empty
// shape is accepted.
Checked OutputExtent(const Arguments& a, int64_t axis, const Window& window) {
  const int64_t extent = a.input.dim(axis + 2);
  if (a.transposed) return TransposedExtent(extent, window);
  const Checked slack = Slack(extent, window);
  return slack.ok() ? Checked(slack.value() / window.stride + 1) : slack;
}

}  // namespace

Status OutputShape(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireExtent(a.output, 0, a.input.dim(0), Text(a.input.name, "'s batch size")));
  const Checked channels = a.transposed ? Checked(a.weight.dim(1)) * a.groups : Checked(a.weight.dim(0));
  if (!channels.ok()) return Refuse("groups", Text(a.groups), "one that times weight extent 1 fits 64 bits");
  CANOPY_RETURN_IF_ERROR(
      RequireExtent(a.output, 1, channels.value(), a.transposed ? "weight extent 1 * groups" : "weight extent 0"));
  for (int64_t axis = 0; axis < a.spatial_rank(); ++axis) {
    const Window window = WindowOn(a, axis);
    const Checked extent = OutputExtent(a, axis, window);
    if (extent.ok() && extent.value() == a.output.dim(axis + 2)) continue;
    const std::string formula = a.transposed ? TransposedExtentText(a.input.dim(axis + 2), window)
                                             : WindowCountText(a.input.dim(axis + 2), window);
    return Refuse(Text(a.output.name, " extent ", axis + 2, " (", AxisName(a.spatial_rank(), axis), ")"),
                  Text(a.output.dim(axis + 2)), extent.ok() ? Text(extent.value(), " = ", formula) : formula);
  }
  return {};
}

Status EmptyGivesEmpty(const Arguments& a, const Product&) {
  if ((!a.input.empty() && !a.weight.empty()) || a.output.empty()) return {};
  return Refuse(Text(a.output.name, " shape"), ListText(a.output.view.dims, a.output.rank()),
                Text("an empty one where ", a.input.empty() ? a.input.name : a.weight.name, " is empty"));
}

Status WorkFits(const Arguments& a, const Product&) {
  const TensorArgument& windows = a.transposed ? a.input : a.output;
  Checked work = Checked(2) * std::max<int64_t>(a.weight.dim(1), 1);
  for (int64_t axis = 0; axis < a.input.rank(); ++axis) work = work * std::max<int64_t>(windows.dim(axis), 1);
  for (int64_t axis = 2; axis < a.input.rank(); ++axis) work = work * std::max<int64_t>(a.weight.dim(axis), 1);
  if (work.ok()) return {};
  return Refuse("weight shape", ListText(a.weight.view.dims, a.weight.rank()),
                "one that needs fewer than 2^62 multiply-adds in all");
}

}  // namespace canopy::opapi::convolution
