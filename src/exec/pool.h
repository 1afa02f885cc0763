// SPDX-License-Identifier: Apache-2.0
// The threads that compute. One pool a process, created at first use, whose size is base::DefaultThreadCount().
// Each thread takes jobs of a region one by one from a part of its own, then from others' parts, so a thread that the
// machine slows down does fewer of them; who computes a job never changes what it computes. Why parts: what a job
// writes, its neighbours' jobs and those of the same place in the next region read and write. That is in the caches of
// the thread that computed it; a line that a core of another cluster holds takes six times as long as one's own
// cluster's.
#ifndef CANOPY_EXEC_POOL_H_
#define CANOPY_EXEC_POOL_H_

#include <cstdint>

namespace canopy::exec {

// Threads of a region, the caller among them.
int ThreadCount();

// Calls job(context, index, worker) for every index in [0, jobs), worker in [0, ThreadCount()), and returns when all
// are done. The caller is worker 0. Serial when `serial`, or when another thread has a region open at the moment.
// REQUIRES: `job` throws nothing. Every worker runs with denormals flushed; the caller's floating-point state is its
// own.
using JobFn = void (*)(void* context, int64_t index, int worker);
void ParallelFor(int64_t jobs, bool serial, JobFn job, void* context);

template <class F>
void ParallelFor(int64_t jobs, bool serial, const F& job) {
  ParallelFor(
      jobs, serial, [](void* context, int64_t index, int worker) { (*static_cast<const F*>(context))(index, worker); },
      const_cast<F*>(&job));
}

// While one lives, regions are serial and begin with the last job. For tests: jobs that write over one another's
// results leave others then.
class ScopedBackwardJobs {
 public:
  ScopedBackwardJobs();
  ~ScopedBackwardJobs();
  ScopedBackwardJobs(const ScopedBackwardJobs&) = delete;
  ScopedBackwardJobs& operator=(const ScopedBackwardJobs&) = delete;
};

}  // namespace canopy::exec

#endif  // CANOPY_EXEC_POOL_H_
