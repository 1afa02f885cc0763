// SPDX-License-Identifier: Apache-2.0
// Dense products whose pixels lie side by side: the tensor that the taps move over is copied once into padded slabs and
// read from there under every tap.
#include <string>

#include "conv/grid.h"
#include "conv/problem.h"

namespace canopy::conv::shifted_slab {
namespace {

constexpr int64_t kMostSpread = 2;  // of the taps, in extents of the tensor

std::string AcceptsWeights(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  if (problem.input.strides[1] == 1 && problem.input.strides[4] != 1 && g.group_input_channels() > 1) {
    return "the input's channels lie side by side, not pixels";
  }
  if (g.taps() == 0) return "the kernel is empty";
  if (g.group_output_channels() < 4) return "a group has fewer than 4 output channels";
  return "";
}

std::string AcceptsActivations(const ConvProblem& problem, bool forward) {
  const Geometry& g = problem.geometry;
  if (g.taps() < 2) return "one tap has nothing to share";
  const Operand& source = forward ? problem.input : problem.output;
  const int64_t source_channels = forward ? g.group_input_channels() : g.group_output_channels();
  const int64_t result_channels = forward ? g.group_output_channels() : g.group_input_channels();
  if (source.strides[1] == 1 && source.strides[4] != 1 && source_channels > 1) {
    return "channels lie side by side, not pixels";
  }
  if (result_channels < 4) return "a group has fewer than 4 result channels";
  if (source_channels < 4) return "a group has fewer than 4 source channels";
  for (int axis = 0; axis < 3; ++axis) {
    bool gaps = false;
    if (!forward) BackwardDataPhases(g, axis, &gaps);
    if (gaps) return "the stride leaves results that no tap reaches";
  }
  return "";
}

}  // namespace

std::string Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "it sums no products";
  const Geometry& g = problem.geometry;
  for (int axis = 0; axis < 3; ++axis) {
    // Also bounds the slab: its rows are as long as the taps lie apart.
    const int64_t size = computation == kBackwardData ? g.output_size[axis] : g.input_size[axis];
    const double spread = static_cast<double>(g.kernel[axis] - 1) * static_cast<double>(g.dilation[axis]);
    if (spread > kMostSpread * (static_cast<double>(size) + static_cast<double>(g.stride[axis]))) {
      return "the taps lie further apart than twice the tensor";
    }
  }
  return computation == kBackwardWeights ? AcceptsWeights(problem)
                                         : AcceptsActivations(problem, computation == kForward);
}

}  // namespace canopy::conv::shifted_slab
