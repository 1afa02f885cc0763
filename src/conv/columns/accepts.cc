// SPDX-License-Identifier: Apache-2.0
// All taps of a channel at once: good where few input channels would leave vectors or tiles half empty.
#include <algorithm>
#include <string_view>

#include "conv/columns/forward_cut.h"
#include "conv/packing/planes.h"
#include "kernels/convert/forms.h"

namespace canopy::conv::columns {
namespace {

constexpr int64_t kMostTaps = 1024;
constexpr int64_t kMostSlabFloats = 128 << 10;      // forward: 512 KiB of a 1 MiB L2
constexpr int64_t kMostWeights = int64_t{2} << 20;  // 8 MiB, packed once a run

// Whether a channel's taps are one run, and input channels follow one another.
bool ColumnsRun(const Operand& weight, const Extent3& kernel) {
  const auto& s = weight.strides;
  return s[4] == 1 && s[3] == kernel[2] && s[2] == kernel[1] * kernel[2] && s[1] == kernel[0] * kernel[1] * kernel[2];
}

// REQUIRES: what ForwardCut does, but for the spread.
bool SlabFits(const Geometry& g) {
  for (int axis = 1; axis < 3; ++axis) {
    if (std::max(g.stride[axis], (g.kernel[axis] - 1) * g.dilation[axis]) > kMostForwardSpread) return false;
  }
  return ForwardCut(g).slab_floats() <= kMostSlabFloats;
}

std::string_view AcceptsForward(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  const int64_t taps = g.taps(), inputs = g.group_input_channels();
  if (problem.has_bias) return "it adds no bias";
  if (inputs == 0 || taps == 0) return "there is nothing to sum";
  if (std::max({inputs, g.kernel[0], g.kernel[1], g.kernel[2]}) > kMostForwardColumns ||
      taps > kMostForwardColumns / inputs) {
    return "a group has more than 256 columns";
  }
  if (!SlabFits(g)) return "the taps or the pixels lie far apart";
  if (!packing::PlanesRun(problem.output_result, g.output_size)) return "output pixels do not lie side by side";
  return "";
}

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kForward) return AcceptsForward(problem);
  const bool bias = (computation & kBiasFromOutput) != 0;
  if (computation != kBackwardData && (computation & ~kBiasFromOutput) != kBackwardWeights) {
    return "it computes outputs, data gradients, or weight gradients with or without those of biases";
  }
  if (problem.has_bias) return "it adds no bias";
  const Geometry& g = problem.geometry;
  const bool weights = computation != kBackwardData;
  if (g.taps() == 0) return "the kernel is empty";
  if (weights && *std::min_element(g.output_size.begin(), g.output_size.end()) <= 0) return "there is no output";
  if (bias && g.group_input_channels() == 0) return "there is nothing to sum";
  if (bias && !problem.ReadsUnrounded(problem.output)) return "the bias gradient is not rounded";
  if (g.kernel[0] > kMostTaps || g.kernel[1] > kMostTaps || g.kernel[2] > kMostTaps || g.taps() > kMostTaps) {
    return "the kernel has more than 1024 offsets";
  }
  if (!packing::PlanesRun(problem.output, g.output_size)) {
    if (weights || !packing::ChannelsRun(problem.output, g.output_size)) return "output pixels do not lie side by side";
    if (kernels::convert::FormRead(problem.output.dtype, problem.rule) == kernels::convert::Form::kOther) {
      return "output pixels do not lie side by side, and kernels do not convert them";
    }
  }
  if (!ColumnsRun(weights ? problem.weight_result : problem.weight, g.kernel)) {
    return "the weights of an output channel are not one run";
  }
  if (g.group_input_channels() > kMostWeights / g.taps() ||
      g.output_channels > kMostWeights / std::max<int64_t>(1, g.group_input_channels() * g.taps())) {
    return "the weights take more than 8 MiB";
  }
  return "";
}

}  // namespace canopy::conv::columns
