// SPDX-License-Identifier: Apache-2.0
// What a panel's tile calls ask for while they multiply: the lines of memory that its results are to be stored to. They
// are read before they are written, and a store that waits for them holds up all behind it.
#ifndef CANOPY_CONV_CHANNEL_LANES_RESULT_ASKS_H_
#define CANOPY_CONV_CHANNEL_LANES_RESULT_ASKS_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "conv/packing/asks.h"

namespace canopy::conv::channel_lanes {

class ResultAsks {
 public:
  ResultAsks() = default;  // asks for nothing
  // `calls` calls are to ask for `channels` stretches of `count` numbers, which lie `stride` apart.
  ResultAsks(const float* first, int64_t channels, int64_t stride, int64_t count, int64_t calls)
      : first_(first),
        stride_(stride),
        parts_(std::max<int64_t>(1, calls / channels)),
        part_(base::CeilDiv(count, parts_)),
        a_call_(base::CeilDiv(channels, calls)),
        channels_(channels) {}

  // Whether call `call`, whose runs are set, asks for something: what is left for its operands to say.
  bool Assign(int64_t call, kernels::GatherOperands* operands) const {
    const int64_t channel = call / parts_ * a_call_;
    if (channel >= channels_) return false;
    packing::AskForStretches(first_ + channel * stride_ + call % parts_ * part_, a_call_,
                             part_ * int64_t{sizeof(float)}, stride_ * int64_t{sizeof(float)}, operands);
    return true;
  }

 private:
  const float* first_ = nullptr;
  int64_t stride_ = 0, parts_ = 1, part_ = 0, a_call_ = 1, channels_ = 0;
};

}  // namespace canopy::conv::channel_lanes

#endif  // CANOPY_CONV_CHANNEL_LANES_RESULT_ASKS_H_
