// SPDX-License-Identifier: Apache-2.0
// Forward and backward data as one thing: for every group and phase, a product of weights and gathered pixels,
//   result[channel][pixel] = sum over (tap, source channel) of weight[channel][tap, source channel] *
//                                                              source[source channel][pixel moved by tap].
#ifndef CANOPY_CONV_ACTIVATION_PRODUCT_H_
#define CANOPY_CONV_ACTIVATION_PRODUCT_H_

#include <array>
#include <vector>

#include "conv/grid.h"
#include "conv/tensor_lines.h"

namespace canopy::conv {

// One phase of each axis: a dense product, the same for every group.
struct PhaseTriple {
  std::array<const AxisPhase*, 3> axes;
  int64_t pixels = 0;  // batch included
  int64_t taps = 0;
};

class ActivationProduct {
 public:
  ActivationProduct(const ConvProblem& problem, Computation computation);
  ActivationProduct(const ActivationProduct&) = delete;  // phases point into it
  ActivationProduct& operator=(const ActivationProduct&) = delete;

  // The phase's tap number `index`: its kernel offset in the weights, in elements, and the pixel map that it implies.
  int64_t TapWeightOffset(const PhaseTriple& phase, int64_t index, PixelMap* map) const;
  PixelMap ResultMap(const PhaseTriple& phase) const;

  // The result of one channel of one image, whole: its bias, or 0. The phases then overwrite what they reach.
  void FillGaps(const ConvProblem& problem, const Buffers& buffers, const LineWriter& result, int64_t row) const;

  const void* Source(const Buffers& buffers) const { return forward ? buffers.input : buffers.output; }
  void* Result(const Buffers& buffers) const { return forward ? buffers.output_result : buffers.input_result; }

  bool forward;
  Operand source, result;  // as the problem names them
  Extent3 source_size{}, result_size{};
  int64_t source_channels = 0, result_channels = 0;  // of a group
  int64_t weight_result_stride = 0, weight_source_stride = 0;
  std::array<int64_t, 3> weight_tap_strides{};
  std::vector<PhaseTriple> phases;
  bool gaps = false;     // results that no phase reaches
  bool padding = false;  // some tap reaches out of the source

 private:
  std::array<std::vector<AxisPhase>, 3> axis_phases_;
};

}  // namespace canopy::conv

#endif  // CANOPY_CONV_ACTIVATION_PRODUCT_H_
