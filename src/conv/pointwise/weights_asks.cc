// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/weights_asks.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/packing/asks.h"

namespace canopy::conv::pointwise {

void AskForPiece(const LineReader& reader, const Operand& operand, const Range& channels, const PieceSpan& span,
                 kernels::GatherOperands* operands) {
  const int64_t bytes = reader.element_bytes(), stride = operand.strides[1];
  const void* from = reader.Address(span.image * operand.strides[0] + channels.first * stride + span.first);
  // Whole planes of neighbouring channels are one stretch.
  const bool whole = span.pixels == stride;
  packing::AskForStretches(from, whole ? span.images : channels.count,
                           (whole ? channels.count : 1) * span.pixels * bytes, operand.strides[whole ? 0 : 1] * bytes,
                           operands);
}

void AskForShare(const LineReader& reader, const Operand& operand, const Range& channels, const Range& share,
                 const PieceSpan& span, kernels::GatherOperands* operands) {
  const int64_t begin = share.first * channels.count / share.count;
  const int64_t end = (share.first + 1) * channels.count / share.count, first = channels.first + begin;
  if (begin == end || span.images == 0) return;
  if (operands != nullptr) return AskForPiece(reader, operand, {first, end - begin}, span, operands);
  for (int64_t n = span.image; n < span.image + span.images; ++n) {
    for (int64_t c = first; c < first + end - begin; ++c) {
      reader.Prefetch(n * operand.strides[0] + c * operand.strides[1] + span.first, span.pixels);
    }
  }
}

void AskForUnfolded(const LineReader& reader, const Unfolded& input, const Range& channels, const Range& share,
                    const PieceSpan& span, int64_t plane, kernels::GatherOperands* operands) {
  if (span.images == 0) return;
  const int64_t parts = std::max<int64_t>(1, share.count / (channels.count * span.images));
  const int64_t units = channels.count * parts;
  const int64_t begin = share.first * units * span.images / share.count, image = begin / units;
  const int64_t end = std::min((share.first + 1) * units * span.images / share.count, (image + 1) * units);
  const Range stretch = input.StretchOf({(span.image + image) * plane + span.first, span.pixels});
  if (begin >= end || stretch.count == 0) return;
  const int64_t bytes = reader.element_bytes(), stride = input.channel_stride();
  const int64_t part = base::CeilDiv(stretch.count, parts), unit = begin % units;
  packing::AskForStretches(
      reader.Address(stretch.first + (channels.first + unit / parts) * stride + unit % parts * part), end - begin,
      part * bytes, stride * bytes, operands);
}

}  // namespace canopy::conv::pointwise
