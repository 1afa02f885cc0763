// SPDX-License-Identifier: Apache-2.0
// A thread's working memory, taken piece by piece. The same walk measures it (from nullptr) and hands it out.
#ifndef CANOPY_CONV_PACKING_SCRATCH_H_
#define CANOPY_CONV_PACKING_SCRATCH_H_

#include <cstdint>

#include "base/checked_math.h"
#include "conv/packing/slab.h"
#include "plan/workspace_ledger.h"

namespace canopy::conv::packing {

class Carver {
 public:
  explicit Carver(char* at) : at_(at) {}

  template <class T>
  T* Take(int64_t count) {
    char* here = at_ == nullptr ? nullptr : at_ + used_;
    used_ += base::RoundUp(count * static_cast<int64_t>(sizeof(T)), plan::WorkspaceLedger::kAlignment);
    return reinterpret_cast<T*>(here);
  }
  int64_t used() const { return used_; }

 private:
  char* at_;
  int64_t used_ = 0;
};

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_SCRATCH_H_
