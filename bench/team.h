// SPDX-License-Identifier: Apache-2.0
// The worker processes for one number of threads: Canopy first, then the peers that this machine has.
#ifndef CANOPY_BENCH_TEAM_H_
#define CANOPY_BENCH_TEAM_H_

#include <memory>
#include <string>
#include <vector>

#include "bench/bench_case.h"
#include "bench/worker.h"

namespace canopy::bench {

struct TeamOptions {
  bool engine = false;  // each algorithm alone
  bool onednn = true;
  bool torch = true;
  std::string torch_peer;  // path of peers/torch_peer.py
};

class Team {
 public:
  // Workers look cases up in `cases`, which must be complete. A peer that is absent is left out, with a line on
  // standard error that says what is missing. REQUIRES: this process has one thread. Throws WorkerFailure where Canopy
  // itself cannot start.
  Team(int threads, const std::vector<BenchCase>& cases, const TeamOptions& options);

  int threads() const { return threads_; }
  const std::vector<std::unique_ptr<Worker>>& workers() const { return workers_; }

 private:
  void Add(const std::string& name, const Worker::Child& child);

  const int threads_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_TEAM_H_
