// SPDX-License-Identifier: Apache-2.0
// Workspace is booked by name, size and alignment while planning and fetched by handle while running.
#ifndef CANOPY_PLAN_WORKSPACE_LEDGER_H_
#define CANOPY_PLAN_WORKSPACE_LEDGER_H_

#include <cstddef>
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
  // Between two threads' shares, at most. A processor that reads by long strides fetches ahead along them, through the
  // end of what is its own: without a gap, what the next thread is writing.
  static constexpr int64_t kMostGap = 128 << 10;

  struct Entry {
    const char* name;
    int64_t threads;  // that have a share each; 0: it is one for all
    int64_t offset;   // from the first of a thread's shares, or of what is one for all
    int64_t bytes;    // of one share
    size_t part;      // of the ledger: what is used together
  };

  // Books `bytes` and returns the handle. A negative size or one past 2^61 marks the ledger as overflowed. Names are
  // kept as they are: literals.
  int Book(const char* name, int64_t bytes) { return Add(name, 0, bytes, &parts_.back().common); }
  // A share of `bytes` for each thread.
  int BookEach(const char* name, int64_t bytes, int64_t threads);

  // What is booked from here on is used when nothing that was booked before is, and lies in the same place.
  void StartOver() { parts_.emplace_back(); }

  // Puts threads' shares `step` apart, or as far as a workspace of `total_bytes` allows, and no closer than they were.
  void Spread(int64_t step, int64_t total_bytes);

  // Where entry `handle` lies, a thread's share or what is one for all, given the caller's workspace (of any
  // alignment). REQUIRES: `workspace` has total_bytes() bytes; handle is from Book.
  void* Fetch(void* workspace, int handle) const;
  // The same of an entry that BookEach gave.
  Shares FetchEach(void* workspace, int handle) const;

  // From the start of the workspace to an entry's.
  int64_t OffsetOf(const Entry& entry) const;
  // From a thread's shares to the next one's: of an entry, and the longest of all.
  int64_t StepOf(const Entry& entry) const { return parts_[entry.part].step; }
  int64_t step() const;

  // What the caller must bring: all entries and the slack to align the first.
  int64_t total_bytes() const;
  bool overflowed() const { return overflowed_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  struct Part {
    int64_t own = 0, common = 0;  // bytes of one thread's shares, and of what is one for all
    int64_t threads = 0, step = 0;

    int64_t OwnBytes() const { return threads == 0 ? 0 : (threads - 1) * step + own; }
  };

  int Add(const char* name, int64_t threads, int64_t bytes, int64_t* end);

  std::vector<Entry> entries_;
  std::vector<Part> parts_ = std::vector<Part>(1);
  bool overflowed_ = false;
};

}  // namespace canopy::plan

#endif  // CANOPY_PLAN_WORKSPACE_LEDGER_H_
