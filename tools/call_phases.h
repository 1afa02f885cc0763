// SPDX-License-Identifier: Apache-2.0
// A case's call in its parts, for those who stand between them: handles, phase 1, phase 2.
#ifndef CANOPY_TOOLS_CALL_PHASES_H_
#define CANOPY_TOOLS_CALL_PHASES_H_

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "aclnn/acl_meta.h"
#include "tools/case.h"
#include "tools/runner.h"

namespace canopy::tools {

// The handles of one call. They may go as soon as phase 1 has returned.
class CallHandles {
 public:
  // Throws RuntimeFailure. REQUIRES: `a_case` outlives it.
  CallHandles(const Case& a_case, const Storages& storages);

  aclnnStatus Phase1(uint64_t* workspace_bytes, aclOpExecutor** executor) const;

 private:
  struct Destroy {
    void operator()(const aclTensor* tensor) const { aclDestroyTensor(tensor); }
    void operator()(const aclIntArray* array) const { aclDestroyIntArray(array); }
    void operator()(const aclBoolArray* array) const { aclDestroyBoolArray(array); }
  };
  template <typename T>
  using Handle = std::unique_ptr<T, Destroy>;

  static Handle<aclTensor> MakeTensor(const TensorSpec& spec, void* data);
  static Handle<aclIntArray> MakeArray(const std::optional<Extents>& values);
  static Handle<aclBoolArray> MakeMask(const std::optional<std::vector<bool>>& mask);
  aclTensor* get(CallTensor tensor) const { return tensors_[static_cast<int>(tensor)].get(); }

  const Case& case_;
  std::array<Handle<aclTensor>, kCallTensors> tensors_;
  Handle<aclIntArray> bias_sizes_, stride_, padding_, dilation_, output_padding_, kernel_size_;
  Handle<aclBoolArray> mask_;
};

aclnnStatus Phase2(CallOp op, void* workspace, uint64_t bytes, aclOpExecutor* executor, aclrtStream stream);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_CALL_PHASES_H_
