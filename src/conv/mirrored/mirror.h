// SPDX-License-Identifier: Apache-2.0
// With a stride of 1 the gradients are those of a convolution with the output in the input's place, the input in the
// output's, and kernel offsets that count backwards. In each axis,
//   weight[co, ci, k] = sum over n and y of output[n, co, y] * input[n, ci, y + k*dilation - pad]
//                     = sum over n and z of input[n, ci, z] * output[n, co, z + (kernel - 1 - k)*dilation - pad'],
//   input[n, ci, z] = sum over co and k of weight[co, ci, k] * output[n, co, z + (kernel - 1 - k)*dilation - pad'],
//   pad' = (kernel - 1)*dilation - pad.
// The former is its weights' gradient, the latter its output. What serves few input channels so serves few output
// channels.
#ifndef CANOPY_CONV_MIRRORED_MIRROR_H_
#define CANOPY_CONV_MIRRORED_MIRROR_H_

#include "conv/problem.h"

namespace canopy::conv::mirrored {

// Whether there is such a convolution, whose padding before the first pixel is not negative.
bool HasMirror(const Geometry& geometry);

// It, for what gives kBackwardData or kBackwardWeights. REQUIRES: HasMirror, one group.
ConvProblem MirrorOf(const ConvProblem& problem);

// What gives, of the mirror, the computation of the problem.
constexpr Computation MirrorOf(Computation computation) {
  return computation == kBackwardData ? kForward : kBackwardWeights;
}

// The mirror's buffers: its first weight is the problem's last.
Buffers MirrorOf(const Buffers& buffers, const ConvProblem& problem);

}  // namespace canopy::conv::mirrored

#endif  // CANOPY_CONV_MIRRORED_MIRROR_H_
