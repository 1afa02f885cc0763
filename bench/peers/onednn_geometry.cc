// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/onednn_geometry.h"

#include <stdexcept>

#include "bench/bench_case.h"

namespace canopy::bench {
namespace {

using conv::Call;
using conv::CallTensor;
using dims = dnnl::memory::dims;
using desc = dnnl::memory::desc;
using tag = dnnl::memory::format_tag;

dnnl::memory::data_type TypeOfTensor(const Call& call, CallTensor tensor) {
  switch (call.form(tensor).dtype) {
    case numerics::DType::kFloat32:
      return dnnl::memory::data_type::f32;
    case numerics::DType::kBFloat16:
      return dnnl::memory::data_type::bf16;
    case numerics::DType::kFloat16:
      return dnnl::memory::data_type::f16;
    default:
      throw std::runtime_error("it has no 8-bit floating point");
  }
}

// What the convolution over (time, batch, channel) tensors is to oneDNN: 2D, one image, whose rows are times and whose
// columns are the batch.
desc TbcActivation(const Call& call, CallTensor tensor, dims* extents) {
  const dims shape = conv::CallShape(call, tensor), strides = conv::CallStrides(call, tensor);
  *extents = {1, shape[2], shape[0], shape[1]};
  return desc(*extents, TypeOfTensor(call, tensor), {shape[0] * strides[0], strides[2], strides[0], strides[1]});
}

desc TbcWeight(const Call& call, CallTensor tensor, dims* extents) {
  const dims shape = conv::CallShape(call, tensor), strides = conv::CallStrides(call, tensor);
  *extents = {shape[2], shape[1], shape[0], 1};
  return desc(*extents, TypeOfTensor(call, tensor), {strides[2], strides[1], strides[0], strides[0]});
}

desc Activation(const Call& call, CallTensor tensor, dims* extents) {
  *extents = conv::CallShape(call, tensor);
  return desc(*extents, TypeOfTensor(call, tensor), conv::CallStrides(call, tensor));
}

// The user's weights have the window's channels first; oneDNN's have the output's, and an axis for the groups.
desc Weight(const Call& call, CallTensor tensor, dims* extents) {
  dims shape = conv::CallShape(call, tensor), strides = conv::CallStrides(call, tensor);
  const int64_t groups = call.groups;
  if (groups > 1) {
    shape[0] /= groups;
    shape.insert(shape.begin(), groups);
    strides.insert(strides.begin(), shape[1] * strides[0]);
  }
  if (call.transposed) {
    const size_t first = groups > 1 ? 1 : 0;
    std::swap(shape[first], shape[first + 1]);
    std::swap(strides[first], strides[first + 1]);
  }
  *extents = shape;
  return desc(shape, TypeOfTensor(call, tensor), strides);
}

void SetWindow(const Call& call, OneDnnGeometry* geometry) {
  const std::vector<int64_t> output = conv::CallOutputSize(call);
  const bool pairs = call.padding.size() == 2 * call.input_size.size();
  for (size_t axis = 0; axis < call.input_size.size(); ++axis) {
    const int64_t map = call.transposed ? output[axis] : call.input_size[axis];
    const int64_t windows = call.transposed ? call.input_size[axis] : output[axis];
    const int64_t reach = call.dilation[axis] * (call.kernel[axis] - 1) + 1;
    const int64_t begin = call.padding[pairs ? 2 * axis : axis];
    geometry->stride.push_back(call.stride[axis]);
    geometry->dilation.push_back(call.dilation[axis] - 1);
    geometry->pad_begin.push_back(begin);
    geometry->pad_end.push_back((windows - 1) * call.stride[axis] + reach - map - begin);
  }
}

}  // namespace

OneDnnGeometry GeometryOf(const Call& call) {
  if (call.op != conv::CallOp::kConvBackward && call.op != conv::CallOp::kTbcBackward) {
    throw std::runtime_error("only backward operators are put to it");
  }
  using T = CallTensor;
  OneDnnGeometry geometry;
  geometry.deconvolution = call.transposed;
  SetWindow(call, &geometry);
  const bool tbc = IsTbc(call);
  const auto activation = tbc ? TbcActivation : Activation;
  const auto weight = tbc ? TbcWeight : Weight;
  if (tbc) {  // the columns, which are the batch, have a window of one
    geometry.stride.push_back(1);
    for (dims* values : {&geometry.dilation, &geometry.pad_begin, &geometry.pad_end}) values->push_back(0);
  }
  geometry.user_input = activation(call, T::kInput, &geometry.input);
  geometry.user_grad_input = activation(call, T::kGradInput, &geometry.input);
  geometry.user_output = activation(call, T::kGradOutput, &geometry.output);
  geometry.user_weight = weight(call, T::kWeight, &geometry.weight);
  geometry.user_grad_weight = weight(call, T::kGradWeight, &geometry.weight);
  geometry.bias = {call.output_channels};
  geometry.user_bias = desc(geometry.bias, TypeOfTensor(call, T::kGradBias), dims{1});
  constexpr tag kChannelsLast[] = {tag::nwc, tag::nhwc, tag::ndhwc};
  geometry.channels_last = kChannelsLast[geometry.stride.size() - 1];
  return geometry;
}

}  // namespace canopy::bench
