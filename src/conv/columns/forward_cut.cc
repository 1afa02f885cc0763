// SPDX-License-Identifier: Apache-2.0
#include "conv/columns/forward_cut.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::conv::columns {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kColumnFloats = 24 << 10;  // of a strip: 96 KiB of a 1 MiB L2
constexpr int64_t kSlabFloats = 32 << 10;
constexpr int64_t kMostPixels = 512;
constexpr int64_t kLeastPixels = 32;
constexpr int64_t kEnoughJobs = 16;
constexpr int64_t kVector = 16;

}  // namespace

// Strips whose columns and slab stay in the cache, and enough of them.
ForwardCut::ForwardCut(const Geometry& g) {
  planes = g.group_input_channels() * g.kernel[0];
  const int64_t columns = planes * g.kernel[1] * g.kernel[2];
  for (int64_t pixels = std::clamp(kColumnFloats / columns, kLeastPixels, kMostPixels);; pixels /= 2) {
    strips = packing::Strips(g, pixels, kVector);
    positions = (strips.columns() - 1) * g.stride[2] + (g.kernel[2] - 1) * g.dilation[2] + 1;
    phase_floats = RoundUp(CeilDiv(positions, g.stride[2]), kVector) + kVector;  // vectors are written whole
    row_floats = phase_floats * g.stride[2];
    rows = (strips.rows() - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
    plane_floats = rows * row_floats;
    if (pixels <= kLeastPixels || (slab_floats() <= kSlabFloats && g.groups * strips.count() >= kEnoughJobs)) break;
  }
  // An odd number of cache lines keeps columns apart in the L1's sets.
  lane_step = RoundUp(strips.pixels(), kVector);
  if (lane_step % (2 * kVector) == 0) lane_step += kVector;
}

}  // namespace canopy::conv::columns
