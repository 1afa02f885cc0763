// SPDX-License-Identifier: Apache-2.0
// Has tile calls ask for what the next panel of pixels is picked from, a stretch of each channel of the unfolded input:
// channels are too far apart for the processor to foresee.
#ifndef CANOPY_CONV_POINTWISE_CHANNEL_ASKS_H_
#define CANOPY_CONV_POINTWISE_CHANNEL_ASKS_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "conv/packing/asks.h"
#include "conv/pointwise/unfolded.h"
#include "conv/tensor_lines.h"
#include "kernels/streams.h"

namespace canopy::conv::pointwise {

class ChannelAsks {
 public:
  // Asks for nothing.
  ChannelAsks() = default;
  // `panels` panels of rows meet `tiles` tiles of pixels each. The first tiles of a panel ask for channels of its own,
  // or for parts of them where tiles are more.
  ChannelAsks(const Unfolded& input, const LineReader& reader, const Range& unfolded, const Range& pixels,
              int64_t panels, int64_t tiles)
      : input_(&input), reader_(&reader), channels_(input.ChannelsOf(unfolded)), stretch_(input.StretchOf(pixels)) {
    a_panel_ = base::CeilDiv(channels_.count, panels);
    parts_ = std::max<int64_t>(1, tiles / std::max<int64_t>(1, a_panel_));
  }

  // Of a call of so many terms and vectors; further panels of the same call ask likewise.
  void Assign(int64_t panel, int64_t tile, int64_t terms, int64_t vectors, kernels::GatherOperands* operands) const {
    const int64_t channel = panel * a_panel_ + tile / parts_, lines_an_ask = vectors * kernels::kMemoryLine;
    if (stretch_.count == 0 || tile >= a_panel_ * parts_ || channel >= channels_.count) return;
    const int64_t part = base::CeilDiv(stretch_.count, parts_), stride = input_->channel_stride();
    const void* from = reader_->Address((channels_.first + channel) * stride + stretch_.first + tile % parts_ * part);
    packing::Asks(base::CeilDiv(part * reader_->element_bytes(), lines_an_ask), 1, packing::AskTimes(terms))
        .Assign(0, from, lines_an_ask, operands);
    operands->ahead_line = kernels::kMemoryLine;
    operands->ahead_panel = a_panel_ * stride * reader_->element_bytes();
  }

 private:
  const Unfolded* input_ = nullptr;
  const LineReader* reader_ = nullptr;
  Range channels_{0, 0}, stretch_{0, 0};
  int64_t a_panel_ = 0, parts_ = 1;  // channels that a panel of rows asks for, of how many parts each
};

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_CHANNEL_ASKS_H_
