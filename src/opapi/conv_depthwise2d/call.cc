// SPDX-License-Identifier: Apache-2.0
#include "opapi/conv_depthwise2d/call.h"

#include "opapi/call.h"

namespace canopy::opapi::conv_depthwise2d {

using conv::CallTensor;

std::string ToText(const Arguments& arguments) {
  const convolution::Arguments& a = arguments.convolution;
  conv::Call call;
  call.op = conv::CallOp::kDepthwiseForward;
  call.batch = a.input.dim(0);
  call.input_channels = a.input.dim(1);
  call.output_channels = a.output.dim(1);
  call.input_size = SpatialSizes(a.input);
  call.kernel = Entries(arguments.kernel_size);
  call.stride = Entries(a.stride);
  call.padding = Entries(a.padding);
  call.dilation = Entries(a.dilation);
  call.output_padding = {0, 0};
  call.groups = a.groups;
  call.has_bias = a.bias.given();
  call.math = a.cube_math_type;
  PutForm(a.input, CallTensor::kInput, &call);
  PutForm(a.weight, CallTensor::kWeight, &call);
  if (call.has_bias) PutForm(a.bias, CallTensor::kBias, &call);
  PutForm(a.output, CallTensor::kOutput, &call);
  return conv::FormatCall(call);
}

Arguments FromCall(const conv::Call& call) {
  Arguments arguments;
  convolution::Arguments& a = arguments.convolution;
  const aclFormat format = FormatOf(call);
  GetTensor(call, CallTensor::kInput, format, &a.input);
  GetTensor(call, CallTensor::kWeight, format, &a.weight);
  GetEntries(call.kernel, &arguments.kernel_size);
  if (call.has_bias) GetTensor(call, CallTensor::kBias, ACL_FORMAT_ND, &a.bias);
  GetEntries(call.stride, &a.stride);
  GetEntries(call.padding, &a.padding);
  GetEntries(call.dilation, &a.dilation);
  a.groups = call.input_channels;
  GetTensor(call, CallTensor::kOutput, format, &a.output);
  a.cube_math_type = call.math;
  return arguments;
}

}  // namespace canopy::opapi::conv_depthwise2d
