// SPDX-License-Identifier: Apache-2.0
#include "opapi/phase_one.h"

#include <memory>

#include "ascendcl/error_message.h"
#include "opapi/conv_run.h"
#include "opapi/memory_check.h"
#include "opapi/text.h"

namespace canopy::opapi {
namespace {

// "canopy: conv_backward f32 ...; reference,reference; 2 threads;"
std::string VerboseText(const std::string& text, const conv::Plan* plan) {
  if (text.empty()) return text;
  if (plan == nullptr) return Text("canopy: ", text, "; nothing to compute;");
  const int threads = conv::ThreadCount(*plan);
  return Text("canopy: ", text, "; ", conv::AlgorithmNames(*plan), "; ", threads,
              threads == 1 ? " thread;" : " threads;");
}

ascendcl::TaskLength LengthOf(const conv::Plan* plan) {
  if (plan == nullptr || conv::IsSmall(*plan)) return ascendcl::TaskLength::kSmall;
  // One thread is faster where it is awake already; several are sooner placed by a thread of their own.
  const bool brief = conv::IsBrief(*plan) || conv::ThreadCount(*plan) == 1;
  return brief ? ascendcl::TaskLength::kBrief : ascendcl::TaskLength::kLong;
}

}  // namespace

aclnnStatus FileRefusal(const char* operator_name, const base::Status& status) noexcept {
  const bool parameter = status.code() == kNullPointer || status.code() == kInvalid;
  const auto error_class = parameter ? ascendcl::ErrorClass::kAclnnParameter : ascendcl::ErrorClass::kAclnnInner;
  try {
    ascendcl::PushError(error_class, Text(operator_name, "GetWorkspaceSize: ", status.message()));
  } catch (const std::bad_alloc&) {
    ascendcl::PushError(error_class, "out of memory");
  }
  return status.code();
}

aclnnStatus Launch(const char* operator_name, const Lowered& lowered, std::string text, uint64_t* workspace_size,
                   aclOpExecutor** executor) {
  nnopbase::ExecutorSpec spec;
  spec.name = operator_name;
  for (int i = 0; i < lowered.binding_count; ++i) {
    const TensorArgument& tensor = *lowered.bindings[i].tensor;
    const base::Status status = CheckMemory(tensor, OnlyDeviceMemory());
    if (!status.ok()) return FileRefusal(operator_name, status);
    spec.tensors[i] = tensor.handle;
  }
  std::shared_ptr<const conv::Plan> plan;
  if (lowered.problem.computations != 0) {
    const base::Status status = conv::MakePlan(lowered.problem, &plan);
    if (!status.ok()) return FileRefusal(operator_name, status);
    spec.workspace_bytes = conv::WorkspaceBytes(*plan);
    if (base::Verbosity() > 1) base::VerboseLine("canopy: plan of %s\n%s", text.c_str(), conv::Describe(*plan).c_str());
  }
  spec.length = LengthOf(plan.get());
  spec.run = std::make_shared<ConvRun>(operator_name, lowered, plan, VerboseText(text, plan.get()));
  aclOpExecutor* created = nullptr;
  const aclnnStatus code = nnopbase::CreateExecutor(spec, &created);
  if (code != 0) return code;
  *workspace_size = spec.workspace_bytes;
  *executor = created;
  return 0;
}

}  // namespace canopy::opapi
