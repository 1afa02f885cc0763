// SPDX-License-Identifier: Apache-2.0
// Tasks on plain threads: the oracle must not lean on the engine's pool.
#ifndef CANOPY_TESTS_ORACLE_PARALLEL_H_
#define CANOPY_TESTS_ORACLE_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace canopy::oracle {

// Calls task(i) once for each i in [0, count), on as many threads as the machine has.
template <typename Task>
void ParallelFor(int64_t count, const Task& task) {
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    for (int64_t i = next++; i < count; i = next++) task(i);
  };
  const int64_t threads = std::min<int64_t>(std::max(std::thread::hardware_concurrency(), 1u), count);
  std::vector<std::thread> helpers;
  for (int64_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace canopy::oracle

#endif  // CANOPY_TESTS_ORACLE_PARALLEL_H_
