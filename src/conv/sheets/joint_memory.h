// SPDX-License-Identifier: Apache-2.0
// The memory of passes that give a depthwise convolution's gradients jointly: workspace and tensors.
#ifndef CANOPY_CONV_SHEETS_JOINT_MEMORY_H_
#define CANOPY_CONV_SHEETS_JOINT_MEMORY_H_

#include <atomic>
#include <cstdint>

#include "plan/workspace_ledger.h"

namespace canopy::conv::sheets {

struct JointMemory {
  float *weights, *sums;
  plan::Shares scratch;
  std::atomic<int>* nonfinite;  // 0
};

class JointWorkspace {
 public:
  // Floats of all weights, of the sums of all segments, and of one thread's sheets.
  void Book(int64_t weights, int64_t sums, int64_t thread, plan::WorkspaceLedger* ledger);

  JointMemory Fetch(const plan::WorkspaceLedger& ledger, void* workspace) const;

 private:
  int weights_ = -1, sums_ = -1, flag_ = -1, scratch_ = -1;
};

}  // namespace canopy::conv::sheets

#endif  // CANOPY_CONV_SHEETS_JOINT_MEMORY_H_
