// SPDX-License-Identifier: Apache-2.0
#include "opapi/window.h"

#include "opapi/require.h"
#include "opapi/text.h"

namespace canopy::opapi {

using base::Checked;
using base::Status;

const char* AxisName(int64_t spatial_rank, int64_t axis) {
  static constexpr const char* kNames[] = {"D", "H", "W"};
  return spatial_rank == 1 ? "L" : kNames[3 - spatial_rank + axis];
}

Window WindowOf(const TensorArgument& weight, const IntArrayArgument& stride, const IntArrayArgument& padding,
                const IntArrayArgument& dilation, int64_t axis) {
  const bool two_sided = padding.size() > stride.size();
  return {.kernel = weight.dim(axis + 2),
          .stride = stride[axis],
          .dilation = dilation[axis],
          .pad_begin = two_sided ? padding[2 * axis] : padding[axis],
          .pad_end = two_sided ? padding[2 * axis + 1] : padding[axis]};
}

Checked Slack(int64_t extent, const Window& window) {
  return Checked(extent) + window.pad_begin + window.pad_end - Checked(window.dilation) * (Checked(window.kernel) - 1) -
         1;
}

Checked TransposedExtent(int64_t extent, const Window& window) {
  return (Checked(extent) - 1) * window.stride - window.pad_begin - window.pad_end +
         Checked(window.dilation) * (Checked(window.kernel) - 1) + window.output_padding + 1;
}

namespace {

std::string Parameters(int64_t extent, const Window& window) {
  return Text(" with I = ", extent, ", pl = ", window.pad_begin, ", ph = ", window.pad_end, ", d = ", window.dilation,
              ", k = ", window.kernel, ", s = ", window.stride);
}

}  // namespace

std::string WindowCountText(int64_t extent, const Window& window) {
  return "(I + pl + ph - d*(k-1) - 1)/s + 1" + Parameters(extent, window);
}

std::string TransposedExtentText(int64_t extent, const Window& window) {
  return Text("(I-1)*s - pl - ph + d*(k-1) + op + 1", Parameters(extent, window), ", op = ", window.output_padding);
}

Status RequireWindowCount(const TensorArgument& windows, const TensorArgument& map, int64_t axis,
                          const Window& window) {
  const char* axis_name = AxisName(map.rank() - 2, axis);
  const int64_t extent = map.dim(axis + 2);
  const Checked slack = Slack(extent, window);
  if (!slack.ok() || slack.value() < 0) {
    return Refuse(
        Text(map.name, " extent ", axis + 2, " (", axis_name, ")"), Text(extent),
        Text("one that the kernel fits in after padding, I + pl + ph >= d*(k-1) + 1", Parameters(extent, window)));
  }
  const int64_t count = slack.value() / window.stride + 1;
  if (windows.dim(axis + 2) == count) return {};
  return Refuse(Text(windows.name, " extent ", axis + 2, " (", axis_name, ")"), Text(windows.dim(axis + 2)),
                Text(count, " = ", WindowCountText(extent, window)));
}

}  // namespace canopy::opapi
