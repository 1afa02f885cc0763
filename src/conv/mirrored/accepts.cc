// SPDX-License-Identifier: Apache-2.0
// Gradients of few output channels, by what serves few input channels.
#include <string_view>

#include "conv/mirrored/mirror.h"
#include "conv/mirrored/ways.h"

namespace canopy::conv::mirrored {

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation != kBackwardData && computation != kBackwardWeights) return "it computes one gradient of products";
  const Geometry& g = problem.geometry;
  if (g.groups != 1) return "there are groups";
  if (g.output_channels >= g.input_channels) return "there are not fewer output channels than input channels";
  if (computation == kBackwardData && g.taps() == 1) return "an input has one product of each output channel";
  if (!HasMirror(g)) return "there is a stride, or more padding than the kernel reaches over";
  const ConvProblem mirror = MirrorOf(problem);
  std::string_view refusal;
  for (const Way& way : kWays) {
    if (way.computation != MirrorOf(computation)) continue;
    refusal = way.accepts(mirror, way.computation);
    if (refusal.empty()) break;
  }
  return refusal;
}

}  // namespace canopy::conv::mirrored
