// SPDX-License-Identifier: Apache-2.0
#include "opapi/convolution/call.h"

#include "opapi/call.h"

namespace canopy::opapi::convolution {

using conv::CallTensor;

std::string ToText(const Arguments& a) {
  conv::Call call;
  call.op = conv::CallOp::kConvForward;
  call.batch = a.input.dim(0);
  call.input_channels = a.input.dim(1);
  call.output_channels = a.output.dim(1);
  call.input_size = SpatialSizes(a.input);
  call.kernel = SpatialSizes(a.weight);
  call.stride = Entries(a.stride);
  call.padding = Entries(a.padding);
  call.dilation = Entries(a.dilation);
  if (a.transposed) call.output_padding = Entries(a.output_padding);
  call.output_padding.resize(call.input_size.size());
  call.groups = a.groups;
  call.transposed = a.transposed;
  call.has_bias = a.bias.given();
  call.math = a.cube_math_type;
  PutForm(a.input, CallTensor::kInput, &call);
  PutForm(a.weight, CallTensor::kWeight, &call);
  if (call.has_bias) PutForm(a.bias, CallTensor::kBias, &call);
  PutForm(a.output, CallTensor::kOutput, &call);
  return conv::FormatCall(call);
}

Arguments FromCall(const conv::Call& call) {
  Arguments a;
  const aclFormat format = FormatOf(call);
  GetTensor(call, CallTensor::kInput, format, &a.input);
  GetTensor(call, CallTensor::kWeight, format, &a.weight);
  if (call.has_bias) GetTensor(call, CallTensor::kBias, ACL_FORMAT_ND, &a.bias);
  GetEntries(call.stride, &a.stride);
  GetEntries(call.padding, &a.padding);
  GetEntries(call.dilation, &a.dilation);
  a.transposed = call.transposed;
  GetEntries(call.output_padding, &a.output_padding);
  a.groups = call.groups;
  GetTensor(call, CallTensor::kOutput, format, &a.output);
  a.cube_math_type = call.math;
  return a;
}

}  // namespace canopy::opapi::convolution
