// SPDX-License-Identifier: Apache-2.0
#include "tools/case.h"

#include <algorithm>

namespace canopy::tools {
namespace {

aclFormat FormatOf(CallOp op, CallTensor tensor, size_t rank) {
  if (IsTbc(op) || tensor == CallTensor::kBias || tensor == CallTensor::kGradBias) return ACL_FORMAT_ND;
  return rank == 3 ? ACL_FORMAT_NCL : rank == 4 ? ACL_FORMAT_NCHW : ACL_FORMAT_NCDHW;
}

}  // namespace

bool IsTbc(CallOp op) { return op == CallOp::kTbcBackward || op == CallOp::kTbcForward; }
bool IsBackward(CallOp op) { return op == CallOp::kConvBackward || op == CallOp::kTbcBackward; }
bool IsOutput(CallTensor tensor) { return tensor >= CallTensor::kGradInput; }

std::vector<CallTensor> WantedOutputs(const Case& a_case) {
  if (!IsBackward(a_case.op)) return {CallTensor::kOutput};
  const std::vector<bool> mask = a_case.attributes.mask.value_or(std::vector<bool>(3, true));
  std::vector<CallTensor> wanted;
  for (size_t i = 0; i < 3 && i < mask.size(); ++i) {
    if (mask[i]) wanted.push_back(static_cast<CallTensor>(static_cast<size_t>(CallTensor::kGradInput) + i));
  }
  return wanted;
}

const char* FunctionName(CallOp op) {
  constexpr const char* kNames[] = {"aclnnConvolutionBackward", "aclnnConvTbcBackward", "aclnnConvolution",
                                    "aclnnConvTbc", "aclnnConvDepthwise2d"};
  return kNames[static_cast<int>(op)];
}

const char* ParameterName(CallOp op, CallTensor tensor) {
  if (op == CallOp::kTbcBackward && tensor == CallTensor::kGradOutput) return "self";
  if ((op == CallOp::kTbcForward || op == CallOp::kDepthwiseForward) && tensor == CallTensor::kInput) return "self";
  if (op == CallOp::kDepthwiseForward && tensor == CallTensor::kOutput) return "out";
  constexpr const char* kNames[] = {"gradOutput", "input",      "weight",   "bias",
                                    "gradInput",  "gradWeight", "gradBias", "output"};
  return kNames[static_cast<int>(tensor)];
}

const char* TypeName(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT:
      return "FLOAT";
    case ACL_FLOAT16:
      return "FLOAT16";
    case ACL_BF16:
      return "BF16";
    case ACL_HIFLOAT8:
      return "HIFLOAT8";
    case ACL_FLOAT8_E4M3FN:
      return "FLOAT8_E4M3FN";
    default:
      return "another type";
  }
}

aclDataType ToAclType(numerics::DType dtype) {
  constexpr aclDataType kTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN};
  return kTypes[static_cast<int>(dtype)];
}

bool ToDType(aclDataType dtype, numerics::DType* result) {
  for (int i = 0; i <= static_cast<int>(numerics::DType::kFloat8E4M3); ++i) {
    if (ToAclType(static_cast<numerics::DType>(i)) != dtype) continue;
    *result = static_cast<numerics::DType>(i);
    return true;
  }
  return false;
}

int64_t Volume(const Extents& shape) {
  int64_t volume = 1;
  for (const int64_t extent : shape) volume *= extent;
  return volume;
}

Extents PackedStrides(const Extents& shape) {
  Extents strides(shape.size());
  int64_t step = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = step;
    step *= std::max<int64_t>(shape[axis], 1);
  }
  return strides;
}

Extents StridesOf(const TensorSpec& spec) { return spec.strides.empty() ? PackedStrides(spec.shape) : spec.strides; }

int64_t StorageElements(const TensorSpec& spec) {
  if (!spec.storage.empty()) return Volume(spec.storage);
  if (Volume(spec.shape) == 0) return spec.offset;
  const Extents strides = StridesOf(spec);
  int64_t last = spec.offset;
  for (size_t axis = 0; axis < spec.shape.size(); ++axis) {
    last += std::max<int64_t>((spec.shape[axis] - 1) * strides[axis], 0);
  }
  return last + 1;
}

Case CaseOfCall(const conv::Call& call) {
  Case result;
  result.op = call.op;
  result.text = result.id = conv::FormatCall(call);
  for (int i = 0; i < kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    const conv::CallTensorForm& form = call.form(tensor);
    if (!conv::CallHasTensor(call, tensor) || form.null) continue;
    TensorSpec& spec = result.tensor(tensor);
    spec.present = true;
    spec.shape = conv::CallShape(call, tensor);
    spec.dtype = ToAclType(form.dtype);
    spec.format = FormatOf(call.op, tensor, spec.shape.size());
    if (form.layout != conv::CallLayout::kContiguous) spec.strides = conv::CallStrides(call, tensor);
    spec.offset = form.offset;
  }
  Attributes& attributes = result.attributes;
  attributes.bias_sizes = Extents{call.output_channels};
  attributes.stride = call.stride;
  attributes.padding = call.padding;
  attributes.dilation = call.dilation;
  attributes.output_padding = call.output_padding;
  attributes.kernel_size = call.kernel;
  attributes.mask = std::vector<bool>(call.mask.begin(), call.mask.end());
  attributes.transposed = call.transposed;
  attributes.groups = call.groups;
  attributes.pad = call.padding[0];
  attributes.cube_math_type = call.math;
  result.compare = WantedOutputs(result);
  return result;
}

}  // namespace canopy::tools
