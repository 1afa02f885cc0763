// SPDX-License-Identifier: Apache-2.0
#include "opapi/convolution_backward/call.h"

#include <algorithm>

#include "opapi/call.h"

namespace canopy::opapi::convolution_backward {

using conv::CallTensor;

std::string ToText(const Arguments& a) {
  conv::Call call;
  call.op = conv::CallOp::kConvBackward;
  call.batch = a.input.dim(0);
  call.input_channels = a.input.dim(1);
  call.output_channels = a.grad_output.dim(1);
  call.input_size = SpatialSizes(a.input);
  call.kernel = SpatialSizes(a.weight);
  call.stride = Entries(a.stride);
  call.padding = Entries(a.padding);
  call.dilation = Entries(a.dilation);
  call.output_padding = Entries(a.output_padding);
  call.output_padding.resize(call.input_size.size());  // of four entries the last two mean nothing
  call.groups = a.groups;
  call.transposed = a.transposed;
  std::copy_n(a.output_mask.view.values.begin(), 3, call.mask.begin());
  call.math = a.cube_math_type;
  PutForm(a.grad_output, CallTensor::kGradOutput, &call);
  PutForm(a.input, CallTensor::kInput, &call);
  PutForm(a.weight, CallTensor::kWeight, &call);
  PutForm(a.grad_input, CallTensor::kGradInput, &call);
  PutForm(a.grad_weight, CallTensor::kGradWeight, &call);
  PutForm(a.grad_bias, CallTensor::kGradBias, &call);
  return conv::FormatCall(call);
}

Arguments FromCall(const conv::Call& call) {
  Arguments a;
  const aclFormat format = FormatOf(call);
  GetTensor(call, CallTensor::kGradOutput, format, &a.grad_output);
  GetTensor(call, CallTensor::kInput, format, &a.input);
  GetTensor(call, CallTensor::kWeight, format, &a.weight);
  GetEntries({call.output_channels}, &a.bias_sizes);
  GetEntries(call.stride, &a.stride);
  GetEntries(call.padding, &a.padding);
  GetEntries(call.dilation, &a.dilation);
  a.transposed = call.transposed;
  GetEntries(call.output_padding, &a.output_padding);
  a.groups = call.groups;
  a.output_mask.state = Handle::kRead;
  a.output_mask.view.size = 3;
  std::copy_n(call.mask.begin(), 3, a.output_mask.view.values.begin());
  a.cube_math_type = call.math;
  GetTensor(call, CallTensor::kGradInput, format, &a.grad_input);
  GetTensor(call, CallTensor::kGradWeight, format, &a.grad_weight);
  GetTensor(call, CallTensor::kGradBias, ACL_FORMAT_ND, &a.grad_bias);
  return a;
}

}  // namespace canopy::opapi::convolution_backward
