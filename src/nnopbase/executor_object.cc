// SPDX-License-Identifier: Apache-2.0
#include "nnopbase/executor_object.h"

#include <mutex>
#include <new>

#include "nnopbase/refuse.h"
#include "nnopbase/tables.h"
#include "opdev/op_errno.h"

namespace canopy::nnopbase {

aclError QueuedRun::Run() noexcept {
  const int code = executor_->spec_.run->Run(workspace_, addresses_, saturate);
  if (code != 0) Refuse(code, "%s: the run failed with %d.", executor_->name(), code);
  return code;
}

void QueuedRun::Finished() noexcept {
  Executor* executor = executor_;
  executor->PutIdle(this);
  executor->LetGo();
}

Executor::Executor(const ExecutorSpec& spec, const TensorAddresses& addresses)
    : spec_(spec), addresses_(addresses), idle_(&first_) {}

Executor::~Executor() {
  while (QueuedRun* run = TakeIdle()) {
    if (run != &first_) delete run;
  }
}

void Executor::LetGo() noexcept {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

QueuedRun* Executor::TakeIdle() noexcept {
  const std::lock_guard<SpinLock> guard(lock_);
  QueuedRun* run = idle_;
  if (run != nullptr) idle_ = run->next_idle_;
  return run;
}

void Executor::PutIdle(QueuedRun* run) noexcept {
  const std::lock_guard<SpinLock> guard(lock_);
  run->next_idle_ = idle_;
  idle_ = run;
}

// A tensor that was destroyed keeps the address it was last seen with.
void Executor::TakeLivingAddresses(TensorAddresses* addresses) {
  const std::lock_guard<SpinLock> guard(lock_);
  if (repeatable) {
    for (int i = 0; i < kMaxTensors; ++i) {
      tensors.Visit(spec_.tensors[i], [this, i](const Tensor& t) { addresses_[i] = t.data; });
    }
  }
  *addresses = addresses_;
}

aclnnStatus Executor::Enqueue(void* workspace, aclrtStream stream) noexcept try {
  TensorAddresses addresses;
  TakeLivingAddresses(&addresses);
  if (const base::Status checked = spec_.run->Check(addresses); !checked.ok()) {
    return RefuseInWords(checked.code(), checked.message());
  }
  QueuedRun* run = TakeIdle();
  if (run == nullptr) run = new QueuedRun;
  run->executor_ = this;
  run->workspace_ = workspace;
  run->addresses_ = addresses;
  run->length = spec_.length;
  Hold();
  const aclError submitted = ascendcl::Submit(stream, run);
  if (submitted == ACL_SUCCESS) return ACLNN_SUCCESS;
  run->Finished();
  return Refuse(ACLNN_ERR_RUNTIME_ERROR,
                "%s: argument stream (%p) cannot be used: the runtime answered %d. Allowed are a living stream of the "
                "current context, or NULL for its default stream.",
                name(), stream, submitted);
} catch (const std::bad_alloc&) {
  return Refuse(ACLNN_ERR_INNER_NULLPTR, "%s: no memory to queue another run.", name());
}

}  // namespace canopy::nnopbase
