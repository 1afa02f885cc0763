// SPDX-License-Identifier: Apache-2.0
// The asking side of a worker process.
#ifndef CANOPY_BENCH_WORKER_H_
#define CANOPY_BENCH_WORKER_H_

#include <sys/types.h>

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace canopy::bench {

// The worker answered that it cannot, or is gone; the text says which and why.
class WorkerFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Tells every library that computes in this process to use so many threads. REQUIRES: none has computed yet.
void SetThreads(int threads);

class Worker {
 public:
  // In the child process: answers on `socket` and returns, or becomes another program that does.
  using Child = std::function<void(int socket)>;

  // Starts a process in which every library that computes is told to use `threads` threads, and greets it. It dies
  // with this one. REQUIRES: this process has one thread at the moment. Throws WorkerFailure.
  Worker(int threads, const Child& child);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const std::string& name() const { return name_; }

  // Throws WorkerFailure.
  nlohmann::json Ask(const nlohmann::json& question);
  // Whether it is still there to be asked.
  bool alive() const { return answers_ != nullptr; }

 private:
  void Stop();

  pid_t process_ = -1;
  int socket_ = -1;
  std::FILE* answers_ = nullptr;
  std::string name_;
};

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_WORKER_H_
