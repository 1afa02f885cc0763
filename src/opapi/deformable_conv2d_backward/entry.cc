// SPDX-License-Identifier: Apache-2.0
// Declared for programs that mention it; not offered.
#include "aclnnop/aclnn_convolution_backward.h"
#include "opapi/phase_one.h"
#include "opapi/require.h"

namespace opapi = canopy::opapi;

namespace {

constexpr const char* kName = "aclnnDeformableConv2dBackward";

aclnnStatus RefuseOffer() noexcept {
  return opapi::FileRefusal(kName, {opapi::kInvalid,
                                    "the operator: was deformable convolution, which this library does not offer; "
                                    "allowed are the operators that its README lists"});
}

}  // namespace

aclnnStatus aclnnDeformableConv2dBackwardGetWorkspaceSize(const aclTensor*, const aclTensor*, const aclTensor*,
                                                          const aclTensor*, const aclTensor*, const aclIntArray*,
                                                          const aclIntArray*, const aclIntArray*, const aclIntArray*,
                                                          int64_t, int64_t, bool, aclTensor*, aclTensor*, aclTensor*,
                                                          aclTensor*, uint64_t* workspaceSize,
                                                          aclOpExecutor** executor) {
  const canopy::base::Status results = opapi::RequireResults({workspaceSize != nullptr, executor != nullptr});
  return results.ok() ? RefuseOffer() : opapi::FileRefusal(kName, results);
}

aclnnStatus aclnnDeformableConv2dBackward(void*, uint64_t, aclOpExecutor*, aclrtStream) { return RefuseOffer(); }
