// SPDX-License-Identifier: Apache-2.0
// Numbers that every job of a step reads: weights in the order in which tiles read them, windows of all sources. The
// threads make them together before the first job, or, where that is little work beside the jobs, each thread makes all
// of them for itself before its own first one: what another core has just written takes long to come, and where the two
// share no cache, as long as small jobs do.
#ifndef CANOPY_CONV_PACKING_COMMON_NUMBERS_H_
#define CANOPY_CONV_PACKING_COMMON_NUMBERS_H_

#include <cstdint>

#include "exec/pool.h"
#include "plan/workspace_ledger.h"

namespace canopy::conv::packing {

class CommonNumbers {
 public:
  CommonNumbers() = default;  // of a step that has none
  // So many floats, made in so many parts: that is `share` of a step's work. No thread has more than `most_bytes` of
  // its own.
  CommonNumbers(const char* name, int64_t parts, int64_t floats, double share, plan::WorkspaceLedger* ledger,
                int64_t most_bytes = kMostBytes)
      : parts_(parts) {
    const int64_t bytes = floats * static_cast<int64_t>(sizeof(float)), threads = exec::ThreadCount();
    alone_ = threads > 1 && static_cast<double>(threads - 1) * share < kSmallShare && bytes <= most_bytes;
    handle_ = alone_ ? ledger->BookEach(name, kHeader + bytes, threads) : ledger->Book(name, bytes);
  }

  bool exist() const { return handle_ >= 0; }

  // Those of one run. `make(part, worker, numbers)` writes a part where it belongs among all of them.
  template <class Make>
  class Run {
   public:
    Run(const CommonNumbers& plan, const plan::WorkspaceLedger& ledger, void* workspace, const Make& make)
        : plan_(plan), shares_(plan.SharesOf(ledger, workspace)), make_(make) {}

    // Before the first job.
    void Begin(bool serial) const {
      if (!plan_.exist()) return;
      if (plan_.alone_) {
        for (int worker = 0; worker < exec::ThreadCount(); ++worker) *shares_.template Of<int64_t>(worker) = 0;
      } else {
        exec::ParallelFor(plan_.parts_, serial, [&](int64_t part, int worker) { make_(part, worker, At(worker)); });
      }
    }

    // For a job of this worker; nullptr where there are none.
    const float* Of(int worker) const {
      if (!plan_.exist()) return nullptr;
      float* numbers = At(worker);
      if (int64_t* made = shares_.template Of<int64_t>(worker); plan_.alone_ && *made == 0) {
        for (int64_t part = 0; part < plan_.parts_; ++part) make_(part, worker, numbers);
        *made = 1;
      }
      return numbers;
    }

   private:
    float* At(int worker) const { return reinterpret_cast<float*>(shares_.Of(worker) + (plan_.alone_ ? kHeader : 0)); }

    const CommonNumbers& plan_;
    plan::Shares shares_;
    const Make& make_;
  };

 private:
  static constexpr double kSmallShare = 0.16;
  static constexpr int64_t kMostBytes = int64_t{2} << 20;
  static constexpr int64_t kHeader = 64;  // whether they are made

  plan::Shares SharesOf(const plan::WorkspaceLedger& ledger, void* workspace) const {
    if (!exist()) return {nullptr, 0};
    if (alone_) return ledger.FetchEach(workspace, handle_);
    return {static_cast<char*>(ledger.Fetch(workspace, handle_)), 0};
  }

  int64_t parts_ = 0;
  bool alone_ = false;
  int handle_ = -1;
};

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_COMMON_NUMBERS_H_
