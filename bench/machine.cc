// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#include "bench/machine_loops.h"
#include "bench/statistics.h"
#include "kernels/peak/contract.h"

namespace canopy::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Seconds from the moment when all threads are ready until the last is done.
template <class Warm, class Body>
double TimeThreads(int threads, const Warm& warm, const Body& body) {
  std::barrier<> ready(threads);
  std::vector<Clock::time_point> begin(threads), end(threads);
  const auto work = [&](int thread) {
    warm(thread);
    ready.arrive_and_wait();
    begin[thread] = Clock::now();
    body(thread);
    end[thread] = Clock::now();
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  work(0);
  for (std::thread& other : others) other.join();
  return std::chrono::duration<double>(*std::max_element(end.begin(), end.end()) -
                                       *std::min_element(begin.begin(), begin.end()))
      .count();
}

// Pages of its own, huge ones where the machine gives them, touched by the thread that reads them.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
    madvise(data_, bytes_, MADV_HUGEPAGE);
    std::memset(data_, 1, bytes_);
  }
  ~Buffer() { munmap(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  const void* data() const { return data_; }

 private:
  void* data_;
  const size_t bytes_;
};

double MeasureRead(int threads, size_t bytes) {
  constexpr size_t kEnough = size_t{256} << 20;
  constexpr int kRounds = 5;
  const size_t share = bytes / threads / 1024 * 1024;
  const size_t passes = std::max<size_t>(1, kEnough / bytes);
  std::vector<std::unique_ptr<Buffer>> buffers(threads);
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    const double seconds = TimeThreads(
        threads,
        [&](int thread) {
          if (buffers[thread] == nullptr) buffers[thread] = std::make_unique<Buffer>(share);
          ReadAll(buffers[thread]->data(), share);
        },
        [&](int thread) {
          for (size_t pass = 0; pass < passes; ++pass) ReadAll(buffers[thread]->data(), share);
        });
    rates.push_back(static_cast<double>(share) * static_cast<double>(passes) * threads / seconds * 1e-9);
  }
  return Median(rates);
}

double MeasureSpin(int threads, double (*spin)(int64_t rounds)) {
  constexpr int64_t kRounds = 150000;  // 2 ms where 24 vectors take 12 cycles of 0.3 ns
  std::vector<double> flops(threads);
  const double seconds = TimeThreads(
      threads, [=](int) { spin(kRounds / 4); }, [&](int thread) { flops[thread] = spin(kRounds); });
  double total = 0;
  for (const double value : flops) total += value;
  return total / seconds * 1e-9;
}

// Seconds of `rounds` trips of a line from one thread to another and back.
double TimeExchange(int rounds) {
  struct alignas(128) Ball {
    std::atomic<int> trips{0};  // even ones are back
  } ball;
  const auto await = [&ball](int trips) {
    constexpr int kPatience = 1000;  // both may be on one core
    for (int turn = 0; ball.trips.load(std::memory_order_acquire) != trips; ++turn) {
      if (turn >= kPatience) std::this_thread::yield();
    }
  };
  return TimeThreads(
      2, [](int) {},
      [&](int thread) {
        for (int round = 0; round < rounds; ++round) {
          if (thread == 1) await(2 * round + 1);
          ball.trips.store(2 * round + 1 + thread, std::memory_order_release);
          if (thread == 0) await(2 * round + 2);
        }
      });
}

}  // namespace

double MeasurePeakGflops(int threads) { return MeasureSpin(threads, kernels::SpinFma); }

double MeasureBf16Gflops(int threads) { return MeasureSpin(threads, SpinBf16Dot); }

double MeasureExchangeNs(int threads) {
  if (threads < 2) return 0;
  constexpr int kRounds = 500, kTries = 9;
  double seconds = TimeExchange(kRounds);
  // The least: in some the threads begin on one core.
  for (int i = 1; i < kTries; ++i) seconds = std::min(seconds, TimeExchange(kRounds));
  return seconds / kRounds * 1e9;
}

Bandwidth Bandwidth::Measure(int threads) {
  constexpr size_t kFirst = size_t{1} << 20, kLast = size_t{256} << 20;
  std::vector<Point> points;
  for (size_t bytes = kFirst; bytes <= kLast; bytes *= 2) {
    points.push_back({static_cast<double>(bytes), MeasureRead(threads, bytes)});
  }
  return Bandwidth(std::move(points));
}

double Bandwidth::At(double bytes) const {
  if (bytes <= points_.front().bytes) return points_.front().gigabytes_per_second;
  for (size_t i = 1; i < points_.size(); ++i) {
    const Point &low = points_[i - 1], &high = points_[i];
    if (bytes > high.bytes) continue;
    const double part = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
    return low.gigabytes_per_second + part * (high.gigabytes_per_second - low.gigabytes_per_second);
  }
  return points_.back().gigabytes_per_second;
}

}  // namespace canopy::bench
