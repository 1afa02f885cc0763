// SPDX-License-Identifier: Apache-2.0
#include "opapi/conv_tbc_backward/call.h"

#include "opapi/call.h"

namespace canopy::opapi::conv_tbc_backward {

using conv::CallTensor;

std::string ToText(const Arguments& a) {
  conv::Call call = TbcCall(conv::CallOp::kTbcBackward, a.input, a.weight, a.pad, a.cube_math_type);
  PutForm(a.self, CallTensor::kGradOutput, &call);
  PutForm(a.input, CallTensor::kInput, &call);
  PutForm(a.weight, CallTensor::kWeight, &call);
  PutForm(a.bias, CallTensor::kBias, &call);
  PutForm(a.grad_input, CallTensor::kGradInput, &call);
  PutForm(a.grad_weight, CallTensor::kGradWeight, &call);
  PutForm(a.grad_bias, CallTensor::kGradBias, &call);
  return conv::FormatCall(call);
}

Arguments FromCall(const conv::Call& call) {
  Arguments a;
  GetTensor(call, CallTensor::kGradOutput, ACL_FORMAT_NCL, &a.self);
  GetTensor(call, CallTensor::kInput, ACL_FORMAT_NCL, &a.input);
  GetTensor(call, CallTensor::kWeight, ACL_FORMAT_NCL, &a.weight);
  GetTensor(call, CallTensor::kBias, ACL_FORMAT_ND, &a.bias);
  a.pad = call.padding[0];
  a.cube_math_type = call.math;
  GetTensor(call, CallTensor::kGradInput, ACL_FORMAT_NCL, &a.grad_input);
  GetTensor(call, CallTensor::kGradWeight, ACL_FORMAT_NCL, &a.grad_weight);
  GetTensor(call, CallTensor::kGradBias, ACL_FORMAT_ND, &a.grad_bias);
  return a;
}

}  // namespace canopy::opapi::conv_tbc_backward
