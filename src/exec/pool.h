// SPDX-License-Identifier: Apache-2.0
// The threads that compute. One pool a process, created at first use, whose size is base::DefaultThreadCount().
// Jobs of a region are handed out one by one, so a thread that the machine slows down does fewer of them; who computes
// a job never changes what it computes. They are taken from as many parts as there are threads, in turn: neighbours
// often write neighbouring lines of memory, which processors that do so at a time take from one another.
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
