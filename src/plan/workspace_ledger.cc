// SPDX-License-Identifier: Apache-2.0
#include "plan/workspace_ledger.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::plan {
namespace {

constexpr int64_t kMost = int64_t{1} << 62;
// Between two threads' shares, at most. A processor that reads by long strides fetches ahead along them, through the
// end of what is its own: without a gap, what the next thread is writing.
constexpr int64_t kGapBytes = 128 << 10;

}  // namespace

int WorkspaceLedger::BookEach(const char* name, int64_t bytes, int64_t threads) {
  const int handle = Add({name, threads, 0, bytes}, &own_);
  threads_ = std::max(threads_, threads);
  step_ = own_.end + std::min(own_.end, kGapBytes);  // strides are as long as what they lie in
  const base::Checked all = base::Checked(step_) * threads_ + own_.end;
  if (!all.ok() || all.value() > kMost) overflowed_ = true;
  return handle;
}

int WorkspaceLedger::Add(Entry entry, Stretch* stretch) {
  if (entry.bytes < 0 || entry.bytes > kMost - stretch->at) {
    overflowed_ = true;
    entry.bytes = 0;
  }
  entry.offset = stretch->at;
  entries_.push_back(entry);
  stretch->at = base::RoundUp(stretch->at + entry.bytes, kAlignment);
  stretch->end = std::max(stretch->end, stretch->at);
  return static_cast<int>(entries_.size()) - 1;
}

void WorkspaceLedger::Spread(int64_t step, int64_t total_bytes) {
  if (threads_ < 2) return;
  const int64_t most = (total_bytes - kAlignment - common_.end - own_.end) / (threads_ - 1);
  step_ = std::max(step_, std::min(step, most) / kAlignment * kAlignment);
}

void* WorkspaceLedger::Fetch(void* workspace, int handle) const {
  const uintptr_t start = (reinterpret_cast<uintptr_t>(workspace) + kAlignment - 1) / kAlignment * kAlignment;
  return reinterpret_cast<void*>(start + static_cast<uintptr_t>(OffsetOf(entries_[static_cast<size_t>(handle)])));
}

Shares WorkspaceLedger::FetchEach(void* workspace, int handle) const {
  return {static_cast<char*>(Fetch(workspace, handle)), step_};
}

}  // namespace canopy::plan
