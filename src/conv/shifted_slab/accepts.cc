// SPDX-License-Identifier: Apache-2.0
// Dense products with several taps whose pixels lie side by side: the source is copied once into padded slabs and read
// from there under every tap.
#include <string>

#include "conv/grid.h"
#include "conv/problem.h"

namespace canopy::conv::shifted_slab {
namespace {

constexpr int64_t kMostSpread = 2;  // of the taps, in extents of the tensor

}  // namespace

std::string Accepts(const ConvProblem& problem, Computation computation) {
  if (computation != kForward && computation != kBackwardData) return "it serves forward and backward data only";
  const Geometry& g = problem.geometry;
  if (g.taps() < 2) return "one tap has nothing to share";
  const bool forward = computation == kForward;
  const Operand& source = forward ? problem.input : problem.output;
  const int64_t source_channels = forward ? g.group_input_channels() : g.group_output_channels();
  const int64_t result_channels = forward ? g.group_output_channels() : g.group_input_channels();
  if (source.strides[1] == 1 && source.strides[4] != 1 && source_channels > 1)
    return "channels lie side by side, not pixels";
  if (result_channels < 4) return "a group has fewer than 4 result channels";
  if (source_channels < 4) return "a group has fewer than 4 source channels";
  for (int axis = 0; axis < 3; ++axis) {
    // Also bounds the slab: its rows are as long as the taps lie apart.
    const int64_t size = forward ? g.input_size[axis] : g.output_size[axis];
    if ((g.kernel[axis] - 1) * g.dilation[axis] > kMostSpread * (size + g.stride[axis])) {
      return "the taps lie further apart than twice the tensor";
    }
    bool gaps = false;
    if (!forward) BackwardDataPhases(g, axis, &gaps);
    if (gaps) return "the stride leaves results that no tap reaches";
  }
  return "";
}

}  // namespace canopy::conv::shifted_slab
