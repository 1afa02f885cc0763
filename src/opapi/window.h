// SPDX-License-Identifier: Apache-2.0
// A convolution's attributes along one spatial axis, and the extents that they relate. Arrays of attributes come with
// one entry an axis, padding also with two (low side, high side).
#ifndef CANOPY_OPAPI_WINDOW_H_
#define CANOPY_OPAPI_WINDOW_H_

#include <cstdint>
#include <string>

#include "base/checked_math.h"
#include "base/status.h"
#include "opapi/arguments.h"

namespace canopy::opapi {

// "D", "H", "W" for three spatial axes, "H", "W" for two, "L" for one.
const char* AxisName(int64_t spatial_rank, int64_t axis);

struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t output_padding = 0;  // transposed forward only
};

// REQUIRES: the arrays have one entry an axis, or two for padding.
Window WindowOf(const TensorArgument& weight, const IntArrayArgument& stride, const IntArrayArgument& padding,
                const IntArrayArgument& dilation, int64_t axis);

// extent + pl + ph - d*(k - 1) - 1: negative where the dilated kernel does not fit.
base::Checked Slack(int64_t extent, const Window& window);

// (extent - 1)*s - pl - ph + d*(k - 1) + op + 1
base::Checked TransposedExtent(int64_t extent, const Window& window);

// Axis `axis` of `windows` counts the places of the kernel over `map`: its extent is Slack / s + 1, and Slack is not
// negative.
// REQUIRES: stride is positive.
base::Status RequireWindowCount(const TensorArgument& windows, const TensorArgument& map, int64_t axis,
                                const Window& window);

// "(I + pl + ph - d*(k-1) - 1)/s + 1 with I = 7, pl = 0, ..."
std::string WindowCountText(int64_t extent, const Window& window);
std::string TransposedExtentText(int64_t extent, const Window& window);

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_WINDOW_H_
