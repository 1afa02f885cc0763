// SPDX-License-Identifier: Apache-2.0
#include "plan/workspace_ledger.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::plan {
namespace {

constexpr int64_t kMost = int64_t{1} << 62;
// Between the shares of two threads, at most. A processor that reads by long strides fetches ahead along them, through
// the end of its share: without a gap, what the next thread is writing.
constexpr int64_t kGapBytes = 128 << 10;

}  // namespace

int64_t WorkspaceLedger::StepOf(int64_t bytes) {
  const int64_t share = base::RoundUp(bytes, kAlignment);
  return share + std::min(share, kGapBytes);  // strides are as long as what they lie in
}

int WorkspaceLedger::BookEach(const char* name, int64_t bytes, int64_t threads) {
  if (bytes < 0 || bytes > kMost) return Add({name, threads, 0, -1, 0});
  const int64_t step = StepOf(bytes);
  const base::Checked all = base::Checked(step) * (threads - 1) + bytes;
  return Add({name, threads, 0, all.ok() ? all.value() : -1, step});
}

int WorkspaceLedger::Add(Entry entry) {
  if (entry.bytes < 0 || entry.bytes > kMost - at_) {
    overflowed_ = true;
    entry.bytes = 0;
  }
  entry.offset = at_;
  entries_.push_back(entry);
  at_ = base::RoundUp(at_ + entry.bytes, kAlignment);
  end_ = std::max(end_, at_);
  return static_cast<int>(entries_.size()) - 1;
}

void* WorkspaceLedger::Fetch(void* workspace, int handle) const {
  const uintptr_t start = (reinterpret_cast<uintptr_t>(workspace) + kAlignment - 1) / kAlignment * kAlignment;
  return reinterpret_cast<void*>(start + static_cast<uintptr_t>(entries_[static_cast<size_t>(handle)].offset));
}

Shares WorkspaceLedger::FetchEach(void* workspace, int handle) const {
  return {static_cast<char*>(Fetch(workspace, handle)), entries_[static_cast<size_t>(handle)].step};
}

}  // namespace canopy::plan
