// SPDX-License-Identifier: Apache-2.0
#include "aclnnop/aclnn_convolution_backward.h"
#include "opapi/conv_tbc_backward/call.h"
#include "opapi/conv_tbc_backward/check.h"
#include "opapi/conv_tbc_backward/lower.h"
#include "opapi/phase_one.h"
#include "opapi/snapshot.h"

using canopy::opapi::PhaseOne;
using canopy::opapi::Take;
namespace op = canopy::opapi::conv_tbc_backward;

aclnnStatus aclnnConvTbcBackwardGetWorkspaceSize(const aclTensor* self, const aclTensor* input, const aclTensor* weight,
                                                 const aclTensor* bias, int64_t pad, int8_t cubeMathType,
                                                 aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias,
                                                 uint64_t* workspaceSize, aclOpExecutor** executor) {
  op::Arguments arguments;
  Take(self, &arguments.self);
  Take(input, &arguments.input);
  Take(weight, &arguments.weight);
  Take(bias, &arguments.bias);
  arguments.pad = pad;
  arguments.cube_math_type = cubeMathType;
  Take(gradInput, &arguments.grad_input);
  Take(gradWeight, &arguments.grad_weight);
  Take(gradBias, &arguments.grad_bias);
  arguments.results = {workspaceSize != nullptr, executor != nullptr};
  return PhaseOne({"aclnnConvTbcBackward", &op::Rules, &op::Lower, &op::ToText}, arguments, workspaceSize, executor);
}

aclnnStatus aclnnConvTbcBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 const aclrtStream stream) {
  return canopy::nnopbase::RunExecutor("aclnnConvTbcBackward", workspace, workspaceSize, executor, stream);
}
