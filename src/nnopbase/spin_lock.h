// SPDX-License-Identifier: Apache-2.0
// A byte that guards a few copies. Handles are used by one thread at a time in every correct program, so it is all but
// never contended; a thread that does find it taken gives up its turn.
#ifndef CANOPY_NNOPBASE_SPIN_LOCK_H_
#define CANOPY_NNOPBASE_SPIN_LOCK_H_

#include <sched.h>

#include <atomic>

namespace canopy::nnopbase {

class SpinLock {
 public:
  void lock() noexcept {
    while (taken_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  void unlock() noexcept { taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag taken_;
};

}  // namespace canopy::nnopbase

#endif  // CANOPY_NNOPBASE_SPIN_LOCK_H_
