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

// A thread's own jobs of a region: those before `end`, of which `next` comes next.
struct alignas(128) Part {
  std::atomic<int64_t> next;
  int64_t end;
};

class Pool {
 public:
  explicit Pool(int threads) : parts_(new (std::nothrow) Part[static_cast<size_t>(threads)]) {
    if (parts_ == nullptr) return;
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
    job_ = job;
    context_ = context;
    Deal(jobs);
    state_.store(kOpen, std::memory_order_release);
    // seq_cst with the sleeper's side: either it sees the new region or this thread sees it sleeping.
    region_.fetch_add(1, std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_seq_cst) > 0) region_.notify_all();
    TakeJobs(0);
    // A worker that has not joined by now is not waited for; one that has is, and what it wrote is then visible.
    state_.fetch_and(~kOpen, std::memory_order_acq_rel);
    while (state_.load(std::memory_order_acquire) != 0) Pause();
    taken_.clear(std::memory_order_release);
    return true;
  }

  // Waits for an open region and ends the workers. Regions opened later are serial.
  void Stop() {
    while (taken_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    stop_.store(true, std::memory_order_relaxed);
    region_.fetch_add(1, std::memory_order_seq_cst);
    region_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    taken_.clear(std::memory_order_release);
  }

 private:
  static constexpr uint32_t kOpen = 1u << 31;  // the rest of state_ counts the workers inside the region

  void Deal(int64_t jobs) {
    part_count_ = static_cast<int>(std::min<int64_t>(jobs, static_cast<int64_t>(threads_.size()) + 1));
    const Shares shares(jobs, part_count_);
    for (int64_t part = 0; part < part_count_; ++part) {
      parts_[part].next.store(shares.Begin(part), std::memory_order_relaxed);
      parts_[part].end = shares.Begin(part + 1);
    }
  }

  // The worker's own, then what others have left of theirs.
  void TakeJobs(int worker) {
    for (int turn = 0; turn < part_count_; ++turn) {
      Part& part = parts_[(worker + turn) % part_count_];
      while (part.next.load(std::memory_order_relaxed) < part.end) {
        const int64_t index = part.next.fetch_add(1, std::memory_order_relaxed);
        if (index < part.end) job_(context_, index, worker);
      }
    }
  }

  bool Join() {
    uint32_t state = state_.load(std::memory_order_relaxed);
    while ((state & kOpen) != 0) {
      // Acquire pairs with the release that opened the region: its fields are visible.
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  void Work(int worker) {
    FlushDenormals flush;
    uint32_t seen = 0;
    for (;;) {
      seen = WaitForRegion(seen);
      if (stop_.load(std::memory_order_relaxed)) return;
      if (!Join()) continue;
      TakeJobs(worker);
      state_.fetch_sub(1, std::memory_order_release);
    }
  }

  uint32_t WaitForRegion(uint32_t seen) {
    const auto deadline = std::chrono::steady_clock::now() + kSpin;
    for (int turn = 1;; ++turn) {
      const uint32_t region = region_.load(std::memory_order_acquire);
      if (region != seen) return region;
      Pause();
      if (turn % 64 == 0 && std::chrono::steady_clock::now() > deadline) break;
    }
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    uint32_t region;
    while ((region = region_.load(std::memory_order_seq_cst)) == seen) region_.wait(seen);
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
    return region;
  }

  std::atomic_flag taken_;
  std::vector<std::thread> threads_;
  std::unique_ptr<Part[]> parts_;
  int part_count_ = 0;
  JobFn job_ = nullptr;
  void* context_ = nullptr;
  alignas(128) std::atomic<uint32_t> state_{0};
  alignas(128) std::atomic<uint32_t> region_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<bool> stop_{false};
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
