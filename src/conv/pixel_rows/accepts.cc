// SPDX-License-Identifier: Apache-2.0
// Few input channels: rows of pixels are the lanes of vectors, and sums over all channels and taps stay in registers.
#include <string_view>

#include "conv/problem.h"
#include "kernels/convert/forms.h"

namespace canopy::conv::pixel_rows {
namespace {

constexpr int64_t kMostChannels = 8;
constexpr int64_t kMostTaps = 256;
constexpr int64_t kMostPhases = 16;  // whose sums a job keeps

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation != kBackwardData) return "it computes data gradients only";
  if (problem.has_bias) return "it adds no bias";
  const Geometry& g = problem.geometry;
  if (g.group_input_channels() > kMostChannels) return "a group has more than 8 input channels";
  if (g.group_input_channels() == 0 || g.group_output_channels() == 0 || g.taps() == 0)
    return "there is nothing to sum";
  for (int axis = 0; axis < 3; ++axis) {
    if (g.kernel[axis] > kMostTaps) return "the kernel has more than 256 offsets along an axis";
    if (axis > 0 && g.dilation[axis] != 1 && g.kernel[axis] > 1) return "the kernel is dilated within planes";
    if (g.output_size[axis] == 0) return "there is no output";
  }
  if (g.stride[1] > kMostPhases / g.stride[2]) return "the strides make more than 16 phases within planes";
  if (kernels::convert::FormRead(problem.output.dtype, problem.rule) == kernels::convert::Form::kOther)
    return "no kernel reads output of this type and rule";
  if (problem.output.strides[4] != 1) return "output pixels of a row do not lie side by side";
  return "";
}

}  // namespace canopy::conv::pixel_rows
