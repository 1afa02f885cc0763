// SPDX-License-Identifier: Apache-2.0
// 1x1 kernels over whole planes: plain matrix products.
#include <string>

#include "conv/pointwise/planes.h"

namespace canopy::conv::pointwise {

std::string Accepts(const ConvProblem& problem, Computation computation) {
  if (computation == kBiasFromOutput || computation == kBiasFromInput) return "it sums no products";
  const Geometry& g = problem.geometry;
  if (g.kernel != Extent3{1, 1, 1}) return "the kernel is not 1x1";
  for (int axis = 0; axis < 3; ++axis) {
    const bool behind = g.output_size[axis] > 0 && (g.output_size[axis] - 1) * g.stride[axis] >= g.input_size[axis];
    if (g.pad_begin[axis] != 0 || behind) return "there is padding";
  }
  const bool weights = computation == kBackwardWeights, forward = computation == kForward;
  if (HasStride(g)) {
    // Pixels that lie apart are picked out where they are transposed anyway, or spread out where they are stored.
    if (forward || g.output_size[0] > 1 || (!weights && g.input_size[0] > 1)) return "pixels do not meet their like";
    const bool spread = weights || PlanesRun(problem.input_result, g.input_size);
    return spread && PlanesRun(problem.output, g.output_size) ? "" : "pixels do not lie side by side";
  }
  const Operand& left = weights ? problem.input : forward ? problem.input : problem.output;
  const Operand& right = weights ? problem.output : forward ? problem.output_result : problem.input_result;
  if (!PlanesRun(left, g.input_size) || !PlanesRun(right, g.input_size)) return "pixels do not lie side by side";
  return "";
}

}  // namespace canopy::conv::pointwise
