// SPDX-License-Identifier: Apache-2.0
#include "opapi/conv_tbc/call.h"

#include "opapi/call.h"

namespace canopy::opapi::conv_tbc {

using conv::CallTensor;

std::string ToText(const Arguments& a) {
  conv::Call call = TbcCall(conv::CallOp::kTbcForward, a.self, a.weight, a.pad, a.cube_math_type);
  PutForm(a.self, CallTensor::kInput, &call);
  PutForm(a.weight, CallTensor::kWeight, &call);
  PutForm(a.bias, CallTensor::kBias, &call);
  PutForm(a.output, CallTensor::kOutput, &call);
  return conv::FormatCall(call);
}

Arguments FromCall(const conv::Call& call) {
  Arguments a;
  GetTensor(call, CallTensor::kInput, ACL_FORMAT_NCL, &a.self);
  GetTensor(call, CallTensor::kWeight, ACL_FORMAT_NCL, &a.weight);
  GetTensor(call, CallTensor::kBias, ACL_FORMAT_ND, &a.bias);
  a.pad = call.padding[0];
  GetTensor(call, CallTensor::kOutput, ACL_FORMAT_NCL, &a.output);
  a.cube_math_type = call.math;
  return a;
}

}  // namespace canopy::opapi::conv_tbc
