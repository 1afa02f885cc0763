// SPDX-License-Identifier: Apache-2.0
#include "conv/work.h"

#include <algorithm>

#include "base/cpu.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv {
namespace {

// Pairs of an output and a kernel offset along one axis that meet an element of the input. Per offset the outputs that
// do are one run.
double UsefulPairs(const Geometry& g, int axis) {
  const int64_t stride = g.stride[axis], input = g.input_size[axis];
  double pairs = 0;
  for (int64_t k = 0; k < g.kernel[axis]; ++k) {
    const int64_t shift = k * g.dilation[axis] - g.pad_begin[axis];  // the input's position under output 0
    const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    const int64_t last = input - 1 - shift < 0 ? -1 : (input - 1 - shift) / stride;
    pairs += static_cast<double>(std::max<int64_t>(0, std::min(last, g.output_size[axis] - 1) - first + 1));
  }
  return pairs;
}

}  // namespace

bool ShortVectors() { return kernels::AllGatherTiles().vector_lanes < kWorkLanes; }

bool WholeVectors() { return !ShortVectors() && !base::Cpu().halves; }

double UsefulMultiplyAdds(const ConvProblem& problem) {
  int sums = 0;  // each has the same multiply-adds
  for (const Computation computation : {kForward, kBackwardData, kBackwardWeights}) {
    sums += (problem.computations & computation) != 0;
  }
  if (sums == 0) return 0;
  const Geometry& g = problem.geometry;
  double useful = sums * static_cast<double>(g.batch) * static_cast<double>(g.output_channels) *
                  static_cast<double>(g.group_input_channels());
  for (int axis = 0; axis < 3; ++axis) useful *= UsefulPairs(g, axis);
  return useful;
}

}  // namespace canopy::conv
