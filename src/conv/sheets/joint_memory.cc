// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/joint_memory.h"

#include <new>

#include "exec/pool.h"

namespace canopy::conv::sheets {

void JointWorkspace::Book(int64_t weights, int64_t sums, int64_t thread, plan::WorkspaceLedger* ledger) {
  const int64_t floats = static_cast<int64_t>(sizeof(float));
  weights_ = ledger->Book("weights", weights * floats);
  sums_ = ledger->Book("gradients", sums * floats);
  flag_ = ledger->Book("flag", static_cast<int64_t>(sizeof(std::atomic<int>)));
  scratch_ = ledger->BookEach("sheets", thread * floats, exec::ThreadCount());
}

JointMemory JointWorkspace::Fetch(const plan::WorkspaceLedger& ledger, void* workspace) const {
  return {static_cast<float*>(ledger.Fetch(workspace, weights_)), static_cast<float*>(ledger.Fetch(workspace, sums_)),
          ledger.FetchEach(workspace, scratch_), new (ledger.Fetch(workspace, flag_)) std::atomic<int>(0)};
}

}  // namespace canopy::conv::sheets
