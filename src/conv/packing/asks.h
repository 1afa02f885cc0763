// SPDX-License-Identifier: Apache-2.0
// Shares out what memory is asked for among the tile calls that work meanwhile. It comes at an even rate then: a
// processor waits for a dozen lines at a time, and a call that asks for many makes its own loads from the L2 wait.
#ifndef CANOPY_CONV_PACKING_ASKS_H_
#define CANOPY_CONV_PACKING_ASKS_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "kernels/gather_gemm/contract.h"
#include "kernels/streams.h"

namespace canopy::conv::packing {

// How often a tile call of adjacent rows asks in each run of so many terms.
constexpr int64_t AskTimes(int64_t terms) { return base::CeilDiv(terms, kernels::kTermsAnAsk); }

class Asks {
 public:
  // `calls` calls, each of which has `times` chances, are to ask for `count` addresses.
  Asks(int64_t count, int64_t calls, int64_t times)
      : share_(base::CeilDiv(count, std::max<int64_t>(1, calls))),
        at_once_(base::CeilDiv(share_, std::max<int64_t>(1, times))) {}

  // Has a call ask for its share of the addresses, perhaps for some of the next one's, too: they are `step` bytes
  // apart. Further panels of the same call count as calls.
  void Assign(int64_t call, const void* from, int64_t step, kernels::GatherOperands* operands) const {
    operands->ahead = static_cast<const char*>(from) + call * share_ * step;
    operands->ahead_panel = share_ * step;
    operands->ahead_step = step;
    operands->asks = at_once_;
  }

 private:
  int64_t share_, at_once_;
};

// Has a call of scattered rows, whose runs are set, ask for `count` stretches of so many bytes, `pitch` bytes apart.
inline void AskForStretches(const void* from, int64_t count, int64_t bytes, int64_t pitch,
                            kernels::GatherOperands* operands) {
  int64_t terms = 0;
  for (int64_t t = 0; t < operands->run_count; ++t) terms += operands->runs[t].terms;
  operands->ahead = from;
  operands->ahead_terms = std::max<int64_t>(1, terms / count);
  operands->ahead_step = base::CeilDiv(bytes, operands->ahead_terms);
  operands->ahead_row = pitch;
}

// Stretches of memory, asked for one after another by a list of calls. One too short for a call of its own is left out.
class StretchAsks {
 public:
  static constexpr int kMost = 3;

  // REQUIRES: bytes > 0; fewer than kMost before it.
  void Add(const void* from, int64_t bytes) {
    stretches_[count_++] = {from, base::CeilDiv(bytes, kernels::kMemoryLine)};
    lines_ += stretches_[count_ - 1].lines;
  }

  // Has call `call` of `calls` alike, of so many terms and vectors a term, ask for its share.
  void Assign(int64_t call, int64_t calls, int64_t terms, int64_t vectors, kernels::GatherOperands* operands) const {
    operands->asks = 0;
    operands->ahead_line = kernels::kMemoryLine;
    int64_t begin = 0, lines = 0;
    for (int i = 0; i < count_; ++i) {
      lines += stretches_[i].lines;
      const int64_t end = lines * calls / lines_;
      if (call < end) {
        const Asks asks(base::CeilDiv(stretches_[i].lines, vectors), end - begin, AskTimes(terms));
        return asks.Assign(call - begin, stretches_[i].from, vectors * kernels::kMemoryLine, operands);
      }
      begin = end;
    }
  }

 private:
  struct Stretch {
    const void* from;
    int64_t lines;
  };
  Stretch stretches_[kMost];
  int count_ = 0;
  int64_t lines_ = 0;
};

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_ASKS_H_
