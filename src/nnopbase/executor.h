// SPDX-License-Identifier: Apache-2.0
// The two-phase call. Phase 1 of an operator ends in CreateExecutor; phase 2 of every operator is RunExecutor.
// Single-use executors are consumed by their run; repeatable ones take, at the start of each run, the current address
// of those tensors whose handles are still alive. Each queued run keeps the addresses that it started with.
#ifndef CANOPY_NNOPBASE_EXECUTOR_H_
#define CANOPY_NNOPBASE_EXECUTOR_H_

#include <array>
#include <cstdint>
#include <memory>

#include "acl/acl_base.h"
#include "aclnn/acl_meta.h"
#include "ascendcl/task.h"
#include "base/export.h"
#include "base/status.h"

namespace canopy::nnopbase {

inline constexpr int kMaxTensors = 8;

// Storage base addresses, in the order in which the operator listed its tensors; nullptr for absent ones.
using TensorAddresses = std::array<void*, kMaxTensors>;

// What an operator does when it runs. Immutable; shared by the executor and the runs that are queued.
class CANOPY_EXPORT OperatorRun {
 public:
  virtual ~OperatorRun() = default;

  // Asked in phase 2, before queueing: refuses, for instance, a null address of a tensor that has elements.
  virtual base::Status Check(const TensorAddresses& addresses) const = 0;

  // Computes, synchronously, allocating nothing. `saturate`: results overflow to the greatest finite value, as the
  // stream demands. Returns 0 or an aclnn status.
  virtual int Run(void* workspace, const TensorAddresses& addresses, bool saturate) const noexcept = 0;
};

struct ExecutorSpec {
  const char* name = "";  // "aclnnConvolutionBackward", for messages
  std::shared_ptr<const OperatorRun> run;
  std::array<const aclTensor*, kMaxTensors> tensors{};  // handles whose addresses Run gets; nullptr for absent ones
  uint64_t workspace_bytes = 0;
  ascendcl::TaskLength length = ascendcl::TaskLength::kLong;
};

// 0, or 561101 when there is no memory for it (with a message filed). Reserves all that phase 2 needs.
CANOPY_EXPORT aclnnStatus CreateExecutor(const ExecutorSpec& spec, aclOpExecutor** executor) noexcept;

// Phase 2 of the operator of that name, with every rule and code of the two-phase contract; files a message on failure.
CANOPY_EXPORT aclnnStatus RunExecutor(const char* name, void* workspace, uint64_t workspace_bytes,
                                      aclOpExecutor* executor, aclrtStream stream) noexcept;

}  // namespace canopy::nnopbase

#endif  // CANOPY_NNOPBASE_EXECUTOR_H_
