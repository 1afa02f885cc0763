// SPDX-License-Identifier: Apache-2.0
// Phase 1 of every operator: arguments -> checked -> lowered -> planned -> executor. On failure nothing of the caller's
// is touched and the reason is filed under aclGetRecentErrMsg.
#ifndef CANOPY_OPAPI_PHASE_ONE_H_
#define CANOPY_OPAPI_PHASE_ONE_H_

#include <new>
#include <span>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "nnopbase/executor.h"
#include "opapi/lowered.h"
#include "opapi/policy.h"
#include "opapi/rule.h"
#include "product/product.h"

namespace canopy::opapi {

// What makes an operator out of its arguments.
template <class Arguments>
struct Operator {
  const char* name;  // "aclnnConvolutionBackward"
  std::span<const Rule<Arguments>> (*rules)();
  Lowered (*lower)(const Arguments& arguments, const product::Product& product);
  std::string (*text)(const Arguments& arguments);  // the call's text form
};

// Files the message of a failure and gives its code.
aclnnStatus FileRefusal(const char* operator_name, const base::Status& status) noexcept;

// Checks memory, plans, and gives the executor, or files what stands against it. `text` is what CANOPY_VERBOSE prints
// of the call, empty without it.
aclnnStatus Launch(const char* operator_name, const Lowered& lowered, std::string text, uint64_t* workspace_size,
                   aclOpExecutor** executor);

template <class Arguments>
aclnnStatus CheckAndLaunch(const Operator<Arguments>& op, const Arguments& arguments, uint64_t* workspace_size,
                           aclOpExecutor** executor) {
  const product::Product* product = product::CurrentProduct();
  const Verdict verdict = Walk(op.rules(), arguments, product, CurrentPolicy());
  if (!verdict.status.ok()) return FileRefusal(op.name, verdict.status);
  const Lowered lowered = op.lower(arguments, *product);
  return Launch(op.name, lowered, base::Verbosity() == 0 ? std::string() : op.text(arguments), workspace_size,
                executor);
}

template <class Arguments>
aclnnStatus PhaseOne(const Operator<Arguments>& op, const Arguments& arguments, uint64_t* workspace_size,
                     aclOpExecutor** executor) noexcept {
  try {
    return CheckAndLaunch(op, arguments, workspace_size, executor);
  } catch (const std::bad_alloc&) {
    return FileRefusal(op.name, base::Status(kUnsupportedSize, "out of memory"));
  } catch (...) {
    return FileRefusal(op.name, base::Status(ACLNN_ERR_INNER, "internal error"));
  }
}

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_PHASE_ONE_H_
