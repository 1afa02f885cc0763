// SPDX-License-Identifier: Apache-2.0
// The numbers of all blocks of a tensor's channels, which every job of a step reads. The threads make them together
// before the first job, or, where that is little work beside the jobs, each thread for itself before its own first one:
// what another core has just written takes long to come; where the two share no cache, as long as such jobs take.
#ifndef CANOPY_CONV_FEW_TILES_EVERY_BLOCK_H_
#define CANOPY_CONV_FEW_TILES_EVERY_BLOCK_H_

#include <cstdint>

#include "exec/pool.h"
#include "plan/workspace_ledger.h"

namespace canopy::conv::few_tiles {

class EveryBlock {
 public:
  EveryBlock() = default;
  // `blocks` of so many floats; `work` of `all` the step's is to make them.
  EveryBlock(const char* name, int64_t blocks, int64_t floats, double work, double all, plan::WorkspaceLedger* ledger)
      : blocks_(blocks),
        floats_(floats),
        alone_(exec::ThreadCount() > 1 && work * (exec::ThreadCount() - 1) < kSmall * all) {
    const int64_t bytes = blocks * floats * static_cast<int64_t>(sizeof(float));
    handle_ = alone_ ? ledger->BookEach(name, kHeader + bytes, exec::ThreadCount()) : ledger->Book(name, bytes);
  }

  // Those of one run.
  class Run {
   public:
    // make(block, worker, to) makes one.
    template <class F>
    Run(const EveryBlock& plan, const plan::WorkspaceLedger& ledger, void* workspace, bool serial, const F& make)
        : plan_(plan), shares_(plan.SharesOf(ledger, workspace)) {
      if (plan_.alone_) {
        for (int worker = 0; worker < exec::ThreadCount(); ++worker) *shares_.Of<int64_t>(worker) = 0;
      } else {
        exec::ParallelFor(plan_.blocks_, serial,
                          [&](int64_t block, int worker) { make(block, worker, At(worker) + block * plan_.floats_); });
      }
    }

    // All of them, for a job of this worker.
    template <class F>
    const float* Of(int worker, const F& make) const {
      float* to = At(worker);
      if (int64_t* made = shares_.Of<int64_t>(worker); plan_.alone_ && *made == 0) {
        for (int64_t block = 0; block < plan_.blocks_; ++block) make(block, worker, to + block * plan_.floats_);
        *made = 1;
      }
      return to;
    }

   private:
    float* At(int worker) const {
      return plan_.alone_ ? reinterpret_cast<float*>(shares_.Of(worker) + kHeader) : shares_.Of<float>(0);
    }

    const EveryBlock& plan_;
    plan::Shares shares_;
  };

 private:
  static constexpr double kSmall = 0.1;
  static constexpr int64_t kHeader = 64;  // whether they are made

  plan::Shares SharesOf(const plan::WorkspaceLedger& ledger, void* workspace) const {
    if (alone_) return ledger.FetchEach(workspace, handle_);
    return {static_cast<char*>(ledger.Fetch(workspace, handle_)), 0};
  }

  int64_t blocks_ = 0, floats_ = 0;
  bool alone_ = false;
  int handle_ = -1;
};

}  // namespace canopy::conv::few_tiles

#endif  // CANOPY_CONV_FEW_TILES_EVERY_BLOCK_H_
