// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/store.h"

#include <algorithm>

#include "conv/packing/cache_sets.h"

namespace canopy::conv::packing {

void StoreLines(const LineWriter& writer, int64_t offset, const StoreShape& s, const SlabScratch& scratch,
                const float* tiles) {
  if (s.channel_stride == 1 && s.element_stride != 1) {
    const kernels::Segment all{0, 0, static_cast<int32_t>(s.channels)};
    for (int64_t i = 0; i < s.count; ++i) {
      writer.Store(offset + i * s.element_stride, &all, 1, 1, tiles + i * s.from_step);
    }
    return;
  }
  // Short lines, all in one set of the L1, would leave it before what else belongs into their lines of memory comes.
  const bool scattered = s.count < kLine && CrowdASet(std::min(kLines, s.channels), s.channel_stride);
  const float* const in_place = writer.Direct(offset, s.element_stride);
  const bool streamed = in_place != nullptr && Streams(s.streamed, in_place, s.count, s.channel_stride);
  const bool direct = !scattered && !streamed && in_place != nullptr;
  constexpr int64_t kApart = kLine + kernels::kLineSlack;
  for (int64_t c = 0; c < kLines; ++c) scratch.offsets[c] = c * (direct ? s.channel_stride : kApart);
  for (int64_t i = 0; i < s.count; i += kLine) {
    const int64_t count = std::min(kLine, s.count - i);
    const kernels::Segment whole{0, 0, static_cast<int32_t>(count)};
    for (int64_t c = 0; c < s.channels; c += kLines) {
      const int64_t lines = std::min(kLines, s.channels - c);
      const int64_t at = offset + c * s.channel_stride + i * s.element_stride;
      float* to = direct ? writer.Direct(at, 1) : scratch.lines;
      kernels::Lines().transpose(tiles + i * s.from_step + c, s.from_step, count, lines, to, scratch.offsets);
      if (streamed) {
        kernels::Lines().stream_rows(scratch.lines, kApart, lines, count, writer.Direct(at, 1), s.channel_stride);
        continue;
      }
      for (int64_t l = 0; l < lines && !direct; ++l) {
        writer.Store(at + l * s.channel_stride, &whole, 1, s.element_stride, scratch.lines + scratch.offsets[l]);
      }
    }
  }
}

}  // namespace canopy::conv::packing
