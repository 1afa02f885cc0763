// SPDX-License-Identifier: Apache-2.0
// Copies and sets in stream order: a task around a callable that moves bytes.
#ifndef CANOPY_ASCENDCL_FUNCTION_TASK_H_
#define CANOPY_ASCENDCL_FUNCTION_TASK_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "ascendcl/task.h"
#include "base/status.h"

namespace canopy::ascendcl {

// REQUIRES: the function does not throw.
template <typename Function>
class FunctionTask final : public Task {
 public:
  FunctionTask(size_t bytes, Function function) : function_(std::move(function)) {
    constexpr size_t kSmallBytes = size_t{128} << 10;  // about ten microseconds of copying
    if (bytes <= kSmallBytes) length = TaskLength::kSmall;
  }
  aclError Run() noexcept override {
    function_();
    return ACL_SUCCESS;
  }
  void Finished() noexcept override { delete this; }

 private:
  Function function_;
};

template <typename Function>
std::unique_ptr<Task> MakeTask(size_t bytes, Function function) {
  return std::make_unique<FunctionTask<Function>>(bytes, std::move(function));
}

// Queues the task; with `wait` returns when it has run. Codes as Submit's.
base::Status QueueTask(aclrtStream stream, std::unique_ptr<Task> task, bool wait);

// 107002 where the thread has no current context.
base::Status CheckContext();

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_FUNCTION_TASK_H_
