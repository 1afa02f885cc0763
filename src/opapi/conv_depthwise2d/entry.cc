// SPDX-License-Identifier: Apache-2.0
#include "aclnnop/aclnn_convolution.h"
#include "opapi/conv_depthwise2d/call.h"
#include "opapi/conv_depthwise2d/check.h"
#include "opapi/conv_depthwise2d/lower.h"
#include "opapi/phase_one.h"
#include "opapi/snapshot.h"

using canopy::opapi::PhaseOne;
using canopy::opapi::Take;
namespace op = canopy::opapi::conv_depthwise2d;

aclnnStatus aclnnConvDepthwise2dGetWorkspaceSize(const aclTensor* self, const aclTensor* weight,
                                                 const aclIntArray* kernelSize, const aclTensor* bias,
                                                 const aclIntArray* stride, const aclIntArray* padding,
                                                 const aclIntArray* dilation, aclTensor* out, int8_t cubeMathType,
                                                 uint64_t* workspaceSize, aclOpExecutor** executor) {
  op::Arguments arguments;
  canopy::opapi::convolution::Arguments& plain = arguments.convolution;
  Take(self, &plain.input);
  Take(weight, &plain.weight);
  Take(kernelSize, &arguments.kernel_size);
  Take(bias, &plain.bias);
  Take(stride, &plain.stride);
  Take(padding, &plain.padding);
  Take(dilation, &plain.dilation);
  plain.groups = plain.input.dim(1);
  Take(out, &plain.output);
  plain.cube_math_type = cubeMathType;
  plain.results = {workspaceSize != nullptr, executor != nullptr};
  return PhaseOne({"aclnnConvDepthwise2d", &op::Rules, &op::Lower, &op::ToText}, arguments, workspaceSize, executor);
}

aclnnStatus aclnnConvDepthwise2d(void* workspace, const uint64_t workspaceSize, aclOpExecutor* executor,
                                 aclrtStream stream) {
  return canopy::nnopbase::RunExecutor("aclnnConvDepthwise2d", workspace, workspaceSize, executor, stream);
}
