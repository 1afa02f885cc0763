// SPDX-License-Identifier: Apache-2.0
// Every lock of the library is taken before a fork and given back on both sides, so that the child finds all of them
// free and all data whole. Each module that has a lock offers one function for that.
#ifndef CANOPY_ASCENDCL_FORK_LOCKS_H_
#define CANOPY_ASCENDCL_FORK_LOCKS_H_

#include <mutex>

namespace canopy::ascendcl {

enum class ForkStep { kBefore, kInParent, kInChild };

inline void FollowFork(std::mutex& mutex, ForkStep step) {
  if (step == ForkStep::kBefore) {
    mutex.lock();
  } else {
    mutex.unlock();
  }
}

// Outermost first: this is the order in which they may be nested.
void ForkInit(ForkStep step);
void ForkStreamConfigs(ForkStep step);
void ForkDataBuffers(ForkStep step);
void ForkMemoryBudget(ForkStep step);
void ForkBlocks(ForkStep step);
void ForkErrors(ForkStep step);

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_FORK_LOCKS_H_
