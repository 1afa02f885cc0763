// SPDX-License-Identifier: Apache-2.0
// Shares out what memory is asked for among the tile calls that work meanwhile. It comes at an even rate then: a
// processor waits for a dozen lines at a time, and a call that asks for many makes its own loads from the L2 wait.
#ifndef CANOPY_CONV_PACKING_ASKS_H_
#define CANOPY_CONV_PACKING_ASKS_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "kernels/gather_gemm/contract.h"

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
  // apart.
  void Assign(int64_t call, const void* from, int64_t step, kernels::GatherOperands* operands) const {
    operands->ahead = static_cast<const char*>(from) + call * share_ * step;
    operands->ahead_step = step;
    operands->asks = at_once_;
  }

 private:
  int64_t share_, at_once_;
};

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_ASKS_H_
