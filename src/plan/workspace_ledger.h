// SPDX-License-Identifier: Apache-2.0
// Workspace is booked by name, size and alignment while planning and fetched by handle while running.
#ifndef CANOPY_PLAN_WORKSPACE_LEDGER_H_
#define CANOPY_PLAN_WORKSPACE_LEDGER_H_

#include <cstdint>
#include <vector>

namespace canopy::plan {

// A thread's own part of what was booked for each of them.
class Shares {
 public:
  Shares(char* first, int64_t step) : first_(first), step_(step) {}

  template <class T = char>
  T* Of(int worker) const {
    return reinterpret_cast<T*>(first_ + worker * step_);
  }

 private:
  char* first_;
  int64_t step_;
};

// First what threads have of their own, one thread's after another's, then what is one for all: so a thread that runs
// several steps in one workspace finds its own in the same place, in its caches, and not what another core has written.
class WorkspaceLedger {
 public:
  static constexpr int64_t kAlignment = 128;  // two cache lines: the adjacent-line prefetcher pairs them

  struct Entry {
    const char* name;
    int64_t threads;  // that have a share each; 0: it is one for all
    int64_t offset;   // from the first of a thread's shares, or of what is one for all
    int64_t bytes;    // of one share
  };

  // Books `bytes` and returns the handle. A negative size or one past 2^62 marks the ledger as overflowed. Names are
  // kept as they are: literals.
  int Book(const char* name, int64_t bytes) { return Add({name, 0, 0, bytes}, &common_); }
  // A share of `bytes` for each thread.
  int BookEach(const char* name, int64_t bytes, int64_t threads);

  // What is booked from here on is used when nothing that was booked before is, and lies in the same place.
  void StartOver() { own_.at = common_.at = 0; }

  // Puts threads' shares `step` apart, or as far as a workspace of `total_bytes` allows, and no closer than they were.
  void Spread(int64_t step, int64_t total_bytes);

  // Where entry `handle` lies, a thread's share or what is one for all, given the caller's workspace (of any
  // alignment). REQUIRES: `workspace` has total_bytes() bytes; handle is from Book.
  void* Fetch(void* workspace, int handle) const;
  // The same of an entry that BookEach gave.
  Shares FetchEach(void* workspace, int handle) const;

  // From an entry's start to the start of the workspace.
  int64_t OffsetOf(const Entry& entry) const { return (entry.threads > 0 ? 0 : OwnBytes()) + entry.offset; }
  // From a thread's shares to the next one's.
  int64_t step() const { return step_; }

  // What the caller must bring: all entries and the slack to align the first.
  int64_t total_bytes() const { return entries_.empty() ? 0 : OwnBytes() + common_.end + kAlignment; }
  bool overflowed() const { return overflowed_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  struct Stretch {
    int64_t at = 0;   // of the next entry
    int64_t end = 0;  // of the furthest
  };

  int Add(Entry entry, Stretch* stretch);
  // Of all threads, and what is between them.
  int64_t OwnBytes() const { return threads_ == 0 ? 0 : (threads_ - 1) * step_ + own_.end; }

  std::vector<Entry> entries_;
  Stretch own_, common_;
  int64_t threads_ = 0, step_ = 0;
  bool overflowed_ = false;
};

}  // namespace canopy::plan

#endif  // CANOPY_PLAN_WORKSPACE_LEDGER_H_
