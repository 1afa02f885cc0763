// SPDX-License-Identifier: Apache-2.0
#include "aclnnop/aclnn_convolution_backward.h"
#include "opapi/convolution_backward/call.h"
#include "opapi/convolution_backward/check.h"
#include "opapi/convolution_backward/lower.h"
#include "opapi/phase_one.h"
#include "opapi/snapshot.h"

using canopy::opapi::PhaseOne;
using canopy::opapi::Take;
namespace op = canopy::opapi::convolution_backward;

aclnnStatus aclnnConvolutionBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* input,
                                                     const aclTensor* weight, const aclIntArray* biasSizes,
                                                     const aclIntArray* stride, const aclIntArray* padding,
                                                     const aclIntArray* dilation, bool transposed,
                                                     const aclIntArray* outputPadding, int groups,
                                                     const aclBoolArray* outputMask, int8_t cubeMathType,
                                                     aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias,
                                                     uint64_t* workspaceSize, aclOpExecutor** executor) {
  op::Arguments arguments;
  Take(gradOutput, &arguments.grad_output);
  Take(input, &arguments.input);
  Take(weight, &arguments.weight);
  Take(biasSizes, &arguments.bias_sizes);
  Take(stride, &arguments.stride);
  Take(padding, &arguments.padding);
  Take(dilation, &arguments.dilation);
  arguments.transposed = transposed;
  Take(outputPadding, &arguments.output_padding);
  arguments.groups = groups;
  Take(outputMask, &arguments.output_mask);
  arguments.cube_math_type = cubeMathType;
  Take(gradInput, &arguments.grad_input);
  Take(gradWeight, &arguments.grad_weight);
  Take(gradBias, &arguments.grad_bias);
  arguments.results = {workspaceSize != nullptr, executor != nullptr};
  return PhaseOne({"aclnnConvolutionBackward", &op::Rules, &op::Lower, &op::ToText}, arguments, workspaceSize,
                  executor);
}

aclnnStatus aclnnConvolutionBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                     const aclrtStream stream) {
  return canopy::nnopbase::RunExecutor("aclnnConvolutionBackward", workspace, workspaceSize, executor, stream);
}
