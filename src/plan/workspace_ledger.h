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

class WorkspaceLedger {
 public:
  static constexpr int64_t kAlignment = 128;  // two cache lines: the adjacent-line prefetcher pairs them

  struct Entry {
    const char* name;
    int64_t threads;  // that have a share each; 0: it is one for all
    int64_t offset;
    int64_t bytes;  // of all shares and what is between them
    int64_t step;   // from a thread's share to the next one's
  };

  // Books `bytes` and returns the handle. A negative size or one past 2^62 marks the ledger as overflowed. Names are
  // kept as they are: literals.
  int Book(const char* name, int64_t bytes) { return Add({name, 0, 0, bytes, 0}); }
  // A share of `bytes` for each thread, apart from one another.
  int BookEach(const char* name, int64_t bytes, int64_t threads);

  // What is booked from here on is used when nothing that was booked before is, and lies in the same place.
  void StartOver() { at_ = 0; }

  // Where entry `handle` lies, given the caller's workspace (of any alignment).
  // REQUIRES: `workspace` has total_bytes() bytes; handle is from Book.
  void* Fetch(void* workspace, int handle) const;
  // The same of an entry that BookEach gave.
  Shares FetchEach(void* workspace, int handle) const;

  // From the start of a share of `bytes` to the next one's.
  static int64_t StepOf(int64_t bytes);

  // What the caller must bring: all entries and the slack to align the first.
  int64_t total_bytes() const { return entries_.empty() ? 0 : end_ + kAlignment; }
  bool overflowed() const { return overflowed_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  int Add(Entry entry);

  std::vector<Entry> entries_;
  int64_t at_ = 0;   // of the next entry
  int64_t end_ = 0;  // of the furthest
  bool overflowed_ = false;
};

}  // namespace canopy::plan

#endif  // CANOPY_PLAN_WORKSPACE_LEDGER_H_
