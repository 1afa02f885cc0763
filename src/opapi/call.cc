// SPDX-License-Identifier: Apache-2.0
#include "opapi/call.h"

#include <algorithm>

#include "opapi/dtypes.h"

namespace canopy::opapi {
namespace {

aclDataType FromDType(numerics::DType dtype) {
  constexpr aclDataType kTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN};
  return kTypes[static_cast<int>(dtype)];
}

}  // namespace

std::vector<int64_t> Entries(const IntArrayArgument& array) {
  return {array.view.values.begin(), array.view.values.begin() + array.visible()};
}

std::vector<int64_t> SpatialSizes(const TensorArgument& tensor) {
  return {tensor.view.dims.begin() + 2, tensor.view.dims.begin() + tensor.view.rank};
}

conv::Call TbcCall(conv::CallOp op, const TensorArgument& input, const TensorArgument& weight, int64_t pad, int math) {
  conv::Call call;
  call.op = op;
  call.batch = input.dim(1);
  call.input_channels = input.dim(2);
  call.output_channels = weight.dim(2);
  call.input_size = {input.dim(0)};
  call.kernel = {weight.dim(0)};
  call.stride = {1};
  call.padding = {pad};
  call.dilation = {1};
  call.output_padding = {0};
  call.has_bias = true;
  call.math = math;
  return call;
}

void PutForm(const TensorArgument& tensor, conv::CallTensor which, conv::Call* call) {
  conv::CallTensorForm& form = call->form(which);
  form.null = !tensor.given();
  if (form.null) return;
  form.dtype = ToDType(tensor.view.dtype);
  form.offset = tensor.view.offset;
  conv::SetCallStrides(call, which, {tensor.view.strides.begin(), tensor.view.strides.begin() + tensor.view.rank});
}

void GetTensor(const conv::Call& call, conv::CallTensor which, aclFormat format, TensorArgument* tensor) {
  const conv::CallTensorForm& form = call.form(which);
  if (form.null) return;
  tensor->state = Handle::kRead;
  nnopbase::TensorView& view = tensor->view;
  const std::vector<int64_t> shape = conv::CallShape(call, which), strides = conv::CallStrides(call, which);
  view.dtype = FromDType(form.dtype);
  view.format = format;
  view.rank = static_cast<int64_t>(shape.size());
  view.offset = form.offset;
  std::copy(shape.begin(), shape.end(), view.dims.begin());
  std::copy(strides.begin(), strides.end(), view.strides.begin());
}

void GetEntries(const std::vector<int64_t>& values, IntArrayArgument* array) {
  array->state = Handle::kRead;
  array->view.size = values.size();
  const size_t visible = std::min<size_t>(values.size(), nnopbase::kMaxArray);
  std::copy(values.begin(), values.begin() + visible, array->view.values.begin());
}

aclFormat FormatOf(const conv::Call& call) {
  constexpr aclFormat kFormats[] = {ACL_FORMAT_NCL, ACL_FORMAT_NCHW, ACL_FORMAT_NCDHW};
  const size_t rank = std::clamp<size_t>(call.input_size.size(), 1, 3);
  return kFormats[rank - 1];
}

}  // namespace canopy::opapi
