// SPDX-License-Identifier: Apache-2.0
#include "plan/workspace_ledger.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::plan {
namespace {

constexpr int64_t kMost = int64_t{1} << 61;  // twice of it does not overflow

}  // namespace

int WorkspaceLedger::BookEach(const char* name, int64_t bytes, int64_t threads) {
  Part& part = parts_.back();
  const int handle = Add(name, threads, bytes, &part.own);
  part.threads = std::max(part.threads, threads);
  part.step = part.own + std::min(part.own, kMostGap);  // strides are as long as what they lie in
  const base::Checked all = base::Checked(part.step) * part.threads + part.own;
  if (!all.ok() || all.value() > kMost) {
    overflowed_ = true;
    part.own = part.step = 0;
  }
  return handle;
}

int WorkspaceLedger::Add(const char* name, int64_t threads, int64_t bytes, int64_t* end) {
  if (bytes < 0 || bytes > kMost - *end) {
    overflowed_ = true;
    bytes = 0;
  }
  entries_.push_back({name, threads, *end, bytes, parts_.size() - 1});
  *end = base::RoundUp(*end + bytes, kAlignment);
  return static_cast<int>(entries_.size()) - 1;
}

void WorkspaceLedger::Spread(int64_t step, int64_t total_bytes) {
  for (Part& part : parts_) {
    if (part.threads < 2) continue;
    const int64_t most = (total_bytes - kAlignment - part.common - part.own) / (part.threads - 1);
    part.step = std::max(part.step, std::min(step, most) / kAlignment * kAlignment);
  }
}

int64_t WorkspaceLedger::OffsetOf(const Entry& entry) const {
  return (entry.threads > 0 ? 0 : parts_[entry.part].OwnBytes()) + entry.offset;
}

int64_t WorkspaceLedger::step() const {
  int64_t longest = 0;
  for (const Part& part : parts_) longest = std::max(longest, part.step);
  return longest;
}

int64_t WorkspaceLedger::total_bytes() const {
  int64_t bytes = 0;
  for (const Part& part : parts_) bytes = std::max(bytes, part.OwnBytes() + part.common);
  return entries_.empty() ? 0 : bytes + kAlignment;
}

void* WorkspaceLedger::Fetch(void* workspace, int handle) const {
  const uintptr_t start = (reinterpret_cast<uintptr_t>(workspace) + kAlignment - 1) / kAlignment * kAlignment;
  return reinterpret_cast<void*>(start + static_cast<uintptr_t>(OffsetOf(entries_[static_cast<size_t>(handle)])));
}

Shares WorkspaceLedger::FetchEach(void* workspace, int handle) const {
  return {static_cast<char*>(Fetch(workspace, handle)), StepOf(entries_[static_cast<size_t>(handle)])};
}

}  // namespace canopy::plan
