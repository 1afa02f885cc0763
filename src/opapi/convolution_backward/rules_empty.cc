// SPDX-License-Identifier: Apache-2.0
#include "opapi/convolution_backward/rules.h"
#include "opapi/require.h"
#include "opapi/text.h"
#include "opapi/window.h"

namespace canopy::opapi::convolution_backward {

using base::Checked;
using base::Status;
using product::Product;

bool AnyEmpty(const Arguments& a, const Product&) {
  return a.input.empty() || a.weight.empty() || a.grad_output.empty();
}

Status EmptyBiasSizes(const Arguments& a, const Product&) {
  if (!a.output_mask[2]) return {};
  if (!a.bias_sizes.given()) {
    return Refuse("biasSizes", "NULL", "an array where a tensor is empty and outputMask[2] is true");
  }
  CANOPY_RETURN_IF_ERROR(RequireLength(a.bias_sizes, {1}, "the bias' rank"));
  const Checked channels = a.transposed ? Checked(a.weight.dim(1)) * a.groups : Checked(a.grad_output.dim(1));
  if (channels.ok() && a.bias_sizes[0] == channels.value()) return {};
  const char* formula = a.transposed ? "weight extent 1 * groups" : "gradOutput's channels";
  return Refuse("biasSizes[0]", Text(a.bias_sizes[0]), channels.ok() ? Text(channels.value(), ", ", formula) : formula);
}

Status EmptyInputAxes(const Arguments& a, const Product&) {
  if (!a.output_mask[0] || a.input.dim(0) == 0 || a.input.dim(1) == 0) return {};
  return Refuse("input shape", ListText(a.input.view.dims, a.input.rank()),
                "one whose batch or channels are 0, where a tensor is empty and outputMask[0] is true");
}

Status EmptyChannels(const Arguments& a, const Product&) {
  if (a.transposed) {
    if (a.weight.dim(0) == 0) return Refuse("weight extent 0", "0", "1 or more where transposed is true");
    CANOPY_RETURN_IF_ERROR(RequireExtent(a.weight, 0, a.input.dim(1), "input's channels"));
    if (a.input.dim(0) == 0) return {};
  }
  if (a.map().dim(1) == 0 && a.weight.dim(1) == 0) return {};
  if (a.weight.dim(1) == 0) return Refuse("weight extent 1", "0", "1 or more");
  return GroupChannels(a, {});
}

Status EmptyWindows(const Arguments& a, const Product&) {
  if (a.transposed) return {};
  for (int64_t axis = 0; axis < a.spatial_rank(); ++axis) {
    // The entries of padding in their order, also where there are two an axis: so does the device.
    const Window window{.kernel = a.weight.dim(axis + 2),
                        .dilation = a.dilation[axis],
                        .pad_begin = a.padding[axis],
                        .pad_end = a.padding[axis]};
    const Checked slack = Slack(a.input.dim(axis + 2), window);
    if (slack.ok() && slack.value() >= 0) continue;
    return Refuse(Text("input extent ", axis + 2), Text(a.input.dim(axis + 2)),
                  Text("one that the kernel fits in, I + 2*padding[", axis, "] >= (k - 1)*d + 1 with padding = ",
                       window.pad_begin, ", k = ", window.kernel, ", d = ", window.dilation));
  }
  return {};
}

}  // namespace canopy::opapi::convolution_backward
