// SPDX-License-Identifier: Apache-2.0
// What a tile call of weight gradients asks memory for meanwhile, line by line as it goes: channels of the piece that
// follows. They are too far apart for the processor to foresee.
#ifndef CANOPY_CONV_POINTWISE_WEIGHTS_ASKS_H_
#define CANOPY_CONV_POINTWISE_WEIGHTS_ASKS_H_

#include <cstdint>

#include "conv/pointwise/unfolded.h"
#include "conv/problem.h"
#include "conv/tensor_lines.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::pointwise {

// A piece: pixels [first, first + pixels) of each of some images.
struct PieceSpan {
  int64_t image = 0, images = 0, first = 0, pixels = 0;
};

void AskForPiece(const LineReader& reader, const Operand& operand, const Range& channels, const PieceSpan& span,
                 kernels::GatherOperands* operands);

// Share `share.first` of `share.count` of the channels, at once where there is no call.
void AskForShare(const LineReader& reader, const Operand& operand, const Range& channels, const Range& share,
                 const PieceSpan& span, kernels::GatherOperands* operands);

// Likewise, of an input that is unfolded, whose results' planes are of `plane` pixels: whole channels, or parts where
// they are few.
void AskForUnfolded(const LineReader& reader, const Unfolded& input, const Range& channels, const Range& share,
                    const PieceSpan& span, int64_t plane, kernels::GatherOperands* operands);

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_WEIGHTS_ASKS_H_
