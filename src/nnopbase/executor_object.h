// SPDX-License-Identifier: Apache-2.0
// The object behind an aclOpExecutor. Its handle and each of its queued runs share it; the last to let go deletes it,
// so that a caller may destroy the handle while runs are queued.
#ifndef CANOPY_NNOPBASE_EXECUTOR_OBJECT_H_
#define CANOPY_NNOPBASE_EXECUTOR_OBJECT_H_

#include <atomic>
#include <cstdint>

#include "ascendcl/task.h"
#include "nnopbase/executor.h"
#include "nnopbase/spin_lock.h"

namespace canopy::nnopbase {

class Executor;

// One queued run, with the addresses that it started with.
class QueuedRun final : public ascendcl::Task {
 public:
  aclError Run() noexcept override;
  void Finished() noexcept override;

 private:
  friend class Executor;
  Executor* executor_ = nullptr;
  void* workspace_ = nullptr;
  TensorAddresses addresses_{};
  QueuedRun* next_idle_ = nullptr;
};

class Executor {
 public:
  Executor(const ExecutorSpec& spec, const TensorAddresses& addresses);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void Hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void LetGo() noexcept;

  const char* name() const { return spec_.name; }
  uint64_t workspace_bytes() const { return spec_.workspace_bytes; }

  // Checks the addresses and queues a run. A refusal is filed and returned.
  aclnnStatus Enqueue(void* workspace, aclrtStream stream) noexcept;

  std::atomic<bool> repeatable{false};

 private:
  friend class QueuedRun;

  ~Executor();
  void TakeLivingAddresses(TensorAddresses* addresses);
  QueuedRun* TakeIdle() noexcept;
  void PutIdle(QueuedRun* run) noexcept;

  const ExecutorSpec spec_;
  std::atomic<int> holders_{1};
  SpinLock lock_;              // guards the three below
  TensorAddresses addresses_;  // as last seen
  QueuedRun* idle_;            // runs not in flight, kept for the next
  QueuedRun first_;            // what a single-use executor needs; further runs are allocated when first in flight
};

}  // namespace canopy::nnopbase

#endif  // CANOPY_NNOPBASE_EXECUTOR_OBJECT_H_
