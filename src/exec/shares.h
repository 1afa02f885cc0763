// SPDX-License-Identifier: Apache-2.0
// Jobs in as many shares as there are threads, alike but for one job: share s is [Begin(s), Begin(s + 1)). Thread s of
// a region begins with share s, so steps whose jobs come in the same order find in a thread's caches what it wrote
// there.
#ifndef CANOPY_EXEC_SHARES_H_
#define CANOPY_EXEC_SHARES_H_

#include <cstdint>

namespace canopy::exec {

class Shares {
 public:
  // REQUIRES: count > 0. Shares are empty where there are fewer jobs.
  Shares(int64_t jobs, int64_t count) : jobs_(jobs), count_(count) {}

  int64_t Begin(int64_t share) const { return share * jobs_ / count_; }
  int64_t Size(int64_t share) const { return Begin(share + 1) - Begin(share); }
  // Which one has it. REQUIRES: 0 <= job < jobs.
  int64_t Of(int64_t job) const { return ((job + 1) * count_ - 1) / jobs_; }

 private:
  int64_t jobs_, count_;
};

}  // namespace canopy::exec

#endif  // CANOPY_EXEC_SHARES_H_
