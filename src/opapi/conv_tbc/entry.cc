// SPDX-License-Identifier: Apache-2.0
#include "aclnnop/aclnn_convolution.h"
#include "opapi/conv_tbc/call.h"
#include "opapi/conv_tbc/check.h"
#include "opapi/conv_tbc/lower.h"
#include "opapi/phase_one.h"
#include "opapi/snapshot.h"

using canopy::opapi::PhaseOne;
using canopy::opapi::Take;
namespace op = canopy::opapi::conv_tbc;

aclnnStatus aclnnConvTbcGetWorkspaceSize(const aclTensor* self, const aclTensor* weight, const aclTensor* bias,
                                         const int64_t pad, aclTensor* output, int8_t cubeMathType,
                                         uint64_t* workspaceSize, aclOpExecutor** executor) {
  op::Arguments arguments;
  Take(self, &arguments.self);
  Take(weight, &arguments.weight);
  Take(bias, &arguments.bias);
  arguments.pad = pad;
  Take(output, &arguments.output);
  arguments.cube_math_type = cubeMathType;
  arguments.results = {workspaceSize != nullptr, executor != nullptr};
  return PhaseOne({"aclnnConvTbc", &op::Rules, &op::Lower, &op::ToText}, arguments, workspaceSize, executor);
}

aclnnStatus aclnnConvTbc(void* workspace, const uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return canopy::nnopbase::RunExecutor("aclnnConvTbc", workspace, workspaceSize, executor, stream);
}
