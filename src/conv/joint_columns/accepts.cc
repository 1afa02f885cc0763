// SPDX-License-Identifier: Apache-2.0
// Both gradients where output is much larger than all the rest: one dimension and few columns, an input channel and a
// tap each.
#include <algorithm>
#include <string_view>

#include "conv/joint_columns/step.h"
#include "conv/packing/image_rows.h"

namespace canopy::conv::joint_columns {
namespace {

constexpr int64_t kMostColumns = 32;
constexpr int64_t kMostSpread = 256;  // of taps, and of pixels
constexpr int64_t kMostSlabFloats = 64 << 10;

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  constexpr int kBoth = kBackwardData | kBackwardWeights;
  if ((computation & ~kBiasFromOutput) != kBoth) return "it computes data and weight gradients together only";
  if (problem.has_bias) return "it adds no bias";
  const Geometry& g = problem.geometry;
  if (!packing::IsOneRow(g)) return "images have several rows";
  if (g.groups != 1) return "there are groups";
  if (g.batch == 0 || g.output_size[2] <= 0 || g.input_size[2] <= 0) return "there is no output or no input";
  if (g.input_channels == 0 || g.output_channels == 0 || g.kernel[2] == 0) return "there is nothing to sum";
  if (g.kernel[2] > kMostColumns || g.input_channels > kMostColumns / g.kernel[2])
    return "there are more than 32 columns";
  if (std::max(g.stride[2], (g.kernel[2] - 1) * g.dilation[2]) > kMostSpread)
    return "the taps or the pixels lie far apart";
  if (!problem.IsPlain(problem.output)) return "output is not read as it is";
  if (problem.output.strides[4] != 1) return "output pixels do not lie side by side";
  if (problem.weight.strides[4] != 1 || problem.weight.strides[1] != g.kernel[2]) {
    return "the weights of an output channel are not one run";
  }
  if (SlabFloats(g) > kMostSlabFloats) return "the input under a piece of output takes more than 256 KiB";
  return "";
}

}  // namespace canopy::conv::joint_columns
