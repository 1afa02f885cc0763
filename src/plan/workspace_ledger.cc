// SPDX-License-Identifier: Apache-2.0
#include "plan/workspace_ledger.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::plan {

int WorkspaceLedger::BookEach(const char* name, int64_t bytes, int64_t threads) {
  const base::Checked all = base::Checked(bytes) * threads;
  return Add(name, threads, all.ok() ? all.value() : -1);
}

int WorkspaceLedger::Add(const char* name, int64_t threads, int64_t bytes) {
  constexpr int64_t kMost = int64_t{1} << 62;
  if (bytes < 0 || bytes > kMost - at_) {
    overflowed_ = true;
    bytes = 0;
  }
  entries_.push_back({name, threads, at_, bytes});
  at_ = base::RoundUp(at_ + bytes, kAlignment);
  end_ = std::max(end_, at_);
  return static_cast<int>(entries_.size()) - 1;
}

void* WorkspaceLedger::Fetch(void* workspace, int handle) const {
  const uintptr_t start = (reinterpret_cast<uintptr_t>(workspace) + kAlignment - 1) / kAlignment * kAlignment;
  return reinterpret_cast<void*>(start + static_cast<uintptr_t>(entries_[static_cast<size_t>(handle)].offset));
}

}  // namespace canopy::plan
