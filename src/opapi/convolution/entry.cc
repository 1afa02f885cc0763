// SPDX-License-Identifier: Apache-2.0
#include "aclnnop/aclnn_convolution.h"
#include "opapi/convolution/call.h"
#include "opapi/convolution/check.h"
#include "opapi/convolution/lower.h"
#include "opapi/phase_one.h"
#include "opapi/snapshot.h"

using canopy::opapi::PhaseOne;
using canopy::opapi::Take;
namespace op = canopy::opapi::convolution;

aclnnStatus aclnnConvolutionGetWorkspaceSize(const aclTensor* input, const aclTensor* weight, const aclTensor* bias,
                                             const aclIntArray* stride, const aclIntArray* padding,
                                             const aclIntArray* dilation, bool transposed,
                                             const aclIntArray* outputPadding, const int64_t groups, aclTensor* output,
                                             int8_t cubeMathType, uint64_t* workspaceSize, aclOpExecutor** executor) {
  op::Arguments arguments;
  Take(input, &arguments.input);
  Take(weight, &arguments.weight);
  Take(bias, &arguments.bias);
  Take(stride, &arguments.stride);
  Take(padding, &arguments.padding);
  Take(dilation, &arguments.dilation);
  arguments.transposed = transposed;
  Take(outputPadding, &arguments.output_padding);
  arguments.groups = groups;
  Take(output, &arguments.output);
  arguments.cube_math_type = cubeMathType;
  arguments.results = {workspaceSize != nullptr, executor != nullptr};
  return PhaseOne({"aclnnConvolution", &op::Rules, &op::Lower, &op::ToText}, arguments, workspaceSize, executor);
}

aclnnStatus aclnnConvolution(void* workspace, const uint64_t workspaceSize, aclOpExecutor* executor,
                             aclrtStream stream) {
  return canopy::nnopbase::RunExecutor("aclnnConvolution", workspace, workspaceSize, executor, stream);
}
