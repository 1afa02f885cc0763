// SPDX-License-Identifier: Apache-2.0
#include "exec/pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "exec/float_mode.h"
#include "exec/shares.h"

namespace canopy::exec {
namespace {

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// A worker spins this long for the next region before it sleeps: a fork from spinning threads costs under a
// microsecond, one from sleeping threads tens.
constexpr auto kSpin = std::chrono::microseconds(200);

// What a worker shares with the thread that opens regions: a line of memory of its own, which alone goes to and fro
// when it joins a region and leaves it. Where cores share no cache, a line that the other has changed takes a
// microsecond and more.
struct alignas(128) Desk {
  enum State : uint32_t { kIdle, kOpen, kJoined, kStopped };

  std::atomic<uint32_t> state{kIdle};
  JobFn job = nullptr;
  void* context = nullptr;
  int parts = 0;  // of the region
  // Its own jobs: those before `end`, of which `next` comes next.
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

class Pool {
 public:
  explicit Pool(int threads) : desks_(new (std::nothrow) Desk[static_cast<size_t>(threads)]) {
    if (desks_ == nullptr) return;
    for (int worker = 1; worker < threads; ++worker) {
      try {
        threads_.emplace_back([this, worker] { Work(worker); });
      } catch (...) {
        break;  // fewer threads compute the same thing
      }
    }
  }

  // False: somebody else's region is open, or the process is exiting.
  bool TryRun(int64_t jobs, JobFn job, void* context) {
    // Not a mutex: a job may ask for a region of its own, on the thread that holds this one.
    if (taken_.test_and_set(std::memory_order_acquire)) return false;
    if (threads_.empty()) {
      taken_.clear(std::memory_order_release);
      return false;
    }
    const int parts = static_cast<int>(std::min<int64_t>(jobs, static_cast<int64_t>(threads_.size()) + 1));
    Open(jobs, parts, job, context);
    TakeJobs(0);
    // A worker that has not joined by now is not waited for; one that has is, and what it wrote is then visible.
    for (int worker = 1; worker < parts; ++worker) {
      uint32_t open = Desk::kOpen;
      std::atomic<uint32_t>& state = desks_[worker].state;
      if (state.load(std::memory_order_relaxed) == open) {
        state.compare_exchange_strong(open, Desk::kIdle, std::memory_order_relaxed);
      }
    }
    for (int worker = 1; worker < parts; ++worker) {
      while (desks_[worker].state.load(std::memory_order_acquire) != Desk::kIdle) Pause();
    }
    taken_.clear(std::memory_order_release);
    return true;
  }

  // Waits for an open region and ends the workers. Regions opened later are serial.
  void Stop() {
    while (taken_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    for (size_t worker = 1; worker <= threads_.size(); ++worker) {
      desks_[worker].state.store(Desk::kStopped, std::memory_order_seq_cst);
      desks_[worker].state.notify_one();
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    taken_.clear(std::memory_order_release);
  }

 private:
  void Open(int64_t jobs, int parts, JobFn job, void* context) {
    const Shares shares(jobs, parts);
    for (int part = 0; part < parts; ++part) {
      Desk& desk = desks_[part];
      desk.job = job;
      desk.context = context;
      desk.parts = parts;
      desk.next.store(shares.Begin(part), std::memory_order_relaxed);
      desk.end = shares.Begin(part + 1);
    }
    // All of them before the first is told, for one may take the jobs of another.
    for (int worker = 1; worker < parts; ++worker) desks_[worker].state.store(Desk::kOpen, std::memory_order_release);
    // Either a worker that goes to sleep sees that its region is open, or it is counted here: both change the count.
    if (sleepers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    for (int worker = 1; worker < parts; ++worker) desks_[worker].state.notify_one();
  }

  // The worker's own, then what others have left of theirs.
  void TakeJobs(int worker) {
    const Desk& own = desks_[worker];
    const JobFn job = own.job;
    void* const context = own.context;
    const int parts = own.parts;
    for (int turn = 0; turn < parts; ++turn) {
      Desk& part = desks_[(worker + turn) % parts];
      while (part.next.load(std::memory_order_relaxed) < part.end) {
        const int64_t index = part.next.fetch_add(1, std::memory_order_relaxed);
        if (index < part.end) job(context, index, worker);
      }
    }
  }

  void Work(int worker) {
    FlushDenormals flush;
    Desk& desk = desks_[worker];
    for (;;) {
      uint32_t state = WaitForRegion(desk);
      if (state == Desk::kStopped) return;
      // Acquire pairs with the release that opened the region: what it needs is visible.
      if (!desk.state.compare_exchange_strong(state, Desk::kJoined, std::memory_order_acquire)) continue;
      TakeJobs(worker);
      desk.state.store(Desk::kIdle, std::memory_order_release);
    }
  }

  uint32_t WaitForRegion(Desk& desk) {
    const auto deadline = std::chrono::steady_clock::now() + kSpin;
    uint32_t state;
    for (int turn = 1;; ++turn) {
      state = desk.state.load(std::memory_order_relaxed);
      if (state != Desk::kIdle) return state;
      Pause();
      if (turn % 64 == 0 && std::chrono::steady_clock::now() > deadline) break;
    }
    sleepers_.fetch_add(1, std::memory_order_acq_rel);
    while ((state = desk.state.load(std::memory_order_relaxed)) == Desk::kIdle) desk.state.wait(Desk::kIdle);
    sleepers_.fetch_sub(1, std::memory_order_acq_rel);
    return state;
  }

  std::unique_ptr<Desk[]> desks_;  // of the workers, and one for the thread that opens the region
  std::vector<std::thread> threads_;
  // Apart from what workers read.
  alignas(128) std::atomic_flag taken_;
  std::atomic<uint32_t> sleepers_{0};
};

// Never freed: a task may still ask for a region while the process exits; it then computes serially. A child after
// fork has none of its parent's threads and starts its own pool.
std::atomic<Pool*> g_pool{nullptr};

std::mutex& CreateMutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

void ForgetPoolInChild() {
  g_pool.store(nullptr);
  new (&CreateMutex()) std::mutex;
}

struct StopAtExit {
  ~StopAtExit() {
    if (Pool* pool = g_pool.load()) pool->Stop();
  }
} g_stop_at_exit;

Pool* GetPool() {
  Pool* pool = g_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return pool;
  std::lock_guard<std::mutex> lock(CreateMutex());
  pool = g_pool.load(std::memory_order_acquire);
  if (pool == nullptr) {
    static const int registered = pthread_atfork(nullptr, nullptr, &ForgetPoolInChild);
    (void)registered;
    pool = new (std::nothrow) Pool(ThreadCount());
    g_pool.store(pool, std::memory_order_release);
  }
  return pool;
}

std::atomic<bool> g_backward{false};

}  // namespace

int ThreadCount() { return base::DefaultThreadCount(); }

void ParallelFor(int64_t jobs, bool serial, JobFn job, void* context) {
  if (jobs <= 0) return;
  FlushDenormals flush;
  if (g_backward.load(std::memory_order_relaxed)) {
    for (int64_t index = jobs - 1; index >= 0; --index) job(context, index, 0);
    return;
  }
  if (!serial && jobs > 1 && ThreadCount() > 1) {
    Pool* pool = GetPool();
    if (pool != nullptr && pool->TryRun(jobs, job, context)) return;
  }
  for (int64_t index = 0; index < jobs; ++index) job(context, index, 0);
}

ScopedBackwardJobs::ScopedBackwardJobs() { g_backward = true; }

ScopedBackwardJobs::~ScopedBackwardJobs() { g_backward = false; }

}  // namespace canopy::exec
