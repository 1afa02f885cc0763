// SPDX-License-Identifier: Apache-2.0
// A 1x1 kernel multiplies matrices of three axes: pixels p, input channels i and output channels o. The input has (p,
// i), the output (p, o), the weights (i, o), and each is a sum over the axis that it lacks of the other two's products.
// `pointwise` serves where pixels lie side by side in memory; where the channels of a tensor do, as in channels-last
// and time-batch-channel layouts, the same problem is one of its own kind with the axes in other roles:
//   plays                    pixels   input channels   output channels   its input is   its weights are   its output is
//   outputs side by side        o            i                p          the weights    the input         the output
//   inputs side by side         i            o                p          the weights    the output        the input
// A kernel that lies over the whole input, whose output is one pixel, is a kernel of 1 too: over one pixel, whose input
// channels are all channels' pixels.
#ifndef CANOPY_CONV_TURNED_TURN_H_
#define CANOPY_CONV_TURNED_TURN_H_

#include <optional>

#include "conv/problem.h"

namespace canopy::conv::turned {

struct Turn {
  ConvProblem problem;
  Computation computation = kForward;
  bool by_outputs = false;  // the first of the two lines above

  Buffers Of(const Buffers& buffers) const;
};

// Whether the kernel has one offset over the same pixels, or lies over the whole input.
bool IsProduct(const Geometry& geometry);

// None where channels do not lie side by side, or pixels not at equal distances.
// REQUIRES: IsProduct, one group and no bias; `computation` is no bias gradient.
std::optional<Turn> MakeTurn(const ConvProblem& problem, Computation computation);

}  // namespace canopy::conv::turned

#endif  // CANOPY_CONV_TURNED_TURN_H_
