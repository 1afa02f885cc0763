// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_FEW_PAIRS_LIMITS_H_
#define CANOPY_CONV_FEW_PAIRS_LIMITS_H_

#include "conv/problem.h"
#include "kernels/few_pairs/contract.h"

namespace canopy::conv::few_pairs {

inline constexpr int64_t kMostOutputChannels = 32;
inline constexpr int64_t kMostPairs = 512;

// Whether pixels, of either tensor and all images, and their pairs, with those in the padding, are few: planning lists
// them.
inline bool AreFew(const Geometry& g) {
  int64_t inputs = g.batch, pairs = g.batch;
  for (int axis = 0; axis < 3; ++axis) {
    if (inputs > kMostPairs || pairs > kMostPairs || g.kernel[axis] > kMostPairs) return false;
    if (g.input_size[axis] > kMostPairs || g.output_size[axis] > kMostPairs) return false;
    inputs *= g.input_size[axis];
    pairs *= g.output_size[axis] * g.kernel[axis];
  }
  return inputs <= kMostPairs && pairs <= kMostPairs;
}

}  // namespace canopy::conv::few_pairs

#endif  // CANOPY_CONV_FEW_PAIRS_LIMITS_H_
