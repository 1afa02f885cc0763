// SPDX-License-Identifier: Apache-2.0
#include "conv/call_text.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::conv {
namespace {

using base::Checked;

constexpr const char* kTensorNames[kCallTensors] = {"grad_output", "input",       "weight",    "bias",
                                                    "grad_input",  "grad_weight", "grad_bias", "output"};
constexpr const char* kOpNames[] = {"conv_backward", "tbc_backward", "conv_forward", "tbc_forward",
                                    "depthwise_forward"};

bool IsTbc(CallOp op) { return op == CallOp::kTbcBackward || op == CallOp::kTbcForward; }
bool IsBackward(CallOp op) { return op == CallOp::kConvBackward || op == CallOp::kTbcBackward; }

int64_t ValueOr0(Checked value) { return value.ok() ? std::max<int64_t>(value.value(), 0) : 0; }

int64_t AtOr(const std::vector<int64_t>& values, size_t axis, int64_t fallback) {
  return axis < values.size() ? values[axis] : fallback;
}

// Both ends together.
Checked PaddingSum(const Call& call, size_t axis) {
  const size_t rank = call.input_size.size();
  if (call.padding.size() == 2 * rank) return Checked(call.padding[2 * axis]) + call.padding[2 * axis + 1];
  return Checked(2) * AtOr(call.padding, axis, 0);
}

// Axes of `shape` from the innermost in memory outwards; `order` lists axes outermost first.
std::vector<int64_t> PackedStrides(const std::vector<int64_t>& shape, const std::vector<size_t>& order) {
  std::vector<int64_t> strides(shape.size());
  Checked step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = ValueOr0(step);
    step = step * std::max<int64_t>(shape[order[i]], 1);
  }
  return strides;
}

std::vector<int64_t> ContiguousStrides(const std::vector<int64_t>& shape) {
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  return PackedStrides(shape, order);
}

std::vector<int64_t> ChannelsLastStrides(const std::vector<int64_t>& shape) {
  std::vector<size_t> order{0};
  for (size_t i = 2; i < shape.size(); ++i) order.push_back(i);
  if (shape.size() > 1) order.push_back(1);
  return PackedStrides(shape, order);
}

std::string Joined(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text.append(text.empty() ? "" : "x").append(std::to_string(value));
  return text;
}

// " input:bf16,channels_last,offset=3", or nothing where the tensor is plain and of the line's dtype.
std::string FormatTensor(const Call& call, CallTensor tensor) {
  const CallTensorForm& form = call.form(tensor);
  std::string items;
  if (form.dtype != call.form(CallTensor::kInput).dtype) items += std::string(",") + DTypeName(form.dtype);
  if (form.layout == CallLayout::kChannelsLast) items += ",channels_last";
  if (form.layout == CallLayout::kStrided) items += ",strides=" + Joined(form.strides);
  if (form.offset != 0) items += ",offset=" + std::to_string(form.offset);
  if (form.null) items += ",null";
  const bool bare = tensor == CallTensor::kBias && !IsTbc(call.op);  // its presence is already a fact
  if (items.empty()) return bare ? std::string(" ") + CallTensorName(tensor) : "";
  items[0] = ':';
  return std::string(" ") + CallTensorName(tensor) + items;
}

}  // namespace

const char* CallTensorName(CallTensor tensor) { return kTensorNames[static_cast<int>(tensor)]; }

const char* DTypeName(numerics::DType dtype) {
  constexpr const char* kNames[] = {"f32", "f16", "bf16", "hif8", "f8e4m3"};
  return kNames[static_cast<int>(dtype)];
}

bool CallHasTensor(const Call& call, CallTensor tensor) {
  switch (tensor) {
    case CallTensor::kInput:
    case CallTensor::kWeight:
      return true;
    case CallTensor::kBias:
      return IsTbc(call.op) || (call.op != CallOp::kConvBackward && call.has_bias);
    case CallTensor::kOutput:
      return !IsBackward(call.op);
    default:
      return IsBackward(call.op);
  }
}

std::vector<int64_t> CallOutputSize(const Call& call) {
  std::vector<int64_t> size;
  for (size_t axis = 0; axis < call.input_size.size(); ++axis) {
    const int64_t stride = std::max<int64_t>(AtOr(call.stride, axis, 1), 1);
    const int64_t dilation = std::max<int64_t>(AtOr(call.dilation, axis, 1), 1);
    const Checked window = Checked(dilation) * (Checked(AtOr(call.kernel, axis, 1)) - 1);
    const int64_t input = call.input_size[axis];
    if (call.transposed) {
      size.push_back(ValueOr0((Checked(input) - 1) * stride - PaddingSum(call, axis) + window +
                              AtOr(call.output_padding, axis, 0) + 1));
    } else {
      const Checked room = Checked(input) + PaddingSum(call, axis) - window - 1;
      size.push_back(room.ok() && room.value() >= 0 ? room.value() / stride + 1 : 0);
    }
  }
  return size;
}

std::vector<int64_t> CallShape(const Call& call, CallTensor tensor) {
  const int64_t groups = std::max<int64_t>(call.groups, 1);
  const auto spatial = [&](int64_t outer, int64_t channels, const std::vector<int64_t>& size) {
    if (IsTbc(call.op)) return std::vector<int64_t>{size[0], outer, channels};
    std::vector<int64_t> shape{outer, channels};
    shape.insert(shape.end(), size.begin(), size.end());
    return shape;
  };
  switch (tensor) {
    case CallTensor::kInput:
    case CallTensor::kGradInput:
      return spatial(call.batch, call.input_channels, call.input_size);
    case CallTensor::kGradOutput:
    case CallTensor::kOutput:
      return spatial(call.batch, call.output_channels, CallOutputSize(call));
    case CallTensor::kWeight:
    case CallTensor::kGradWeight:
      if (IsTbc(call.op)) return {call.kernel[0], call.input_channels, call.output_channels};
      if (call.transposed) return spatial(call.input_channels, call.output_channels / groups, call.kernel);
      return spatial(call.output_channels, call.input_channels / groups, call.kernel);
    case CallTensor::kBias:
    case CallTensor::kGradBias:
      return {call.output_channels};
  }
  return {};
}

std::vector<int64_t> CallStrides(const Call& call, CallTensor tensor) {
  const CallTensorForm& form = call.form(tensor);
  if (form.layout == CallLayout::kStrided) return form.strides;
  const std::vector<int64_t> shape = CallShape(call, tensor);
  return form.layout == CallLayout::kChannelsLast ? ChannelsLastStrides(shape) : ContiguousStrides(shape);
}

void SetCallStrides(Call* call, CallTensor tensor, const std::vector<int64_t>& strides) {
  CallTensorForm& form = call->form(tensor);
  const std::vector<int64_t> shape = CallShape(*call, tensor);
  form.strides.clear();
  if (strides == ContiguousStrides(shape)) {
    form.layout = CallLayout::kContiguous;
  } else if (!IsTbc(call->op) && shape.size() > 2 && strides == ChannelsLastStrides(shape)) {
    form.layout = CallLayout::kChannelsLast;
  } else {
    form.layout = CallLayout::kStrided;
    form.strides = strides;
  }
}

void SetCallDType(Call* call, numerics::DType dtype) {
  for (CallTensorForm& form : call->tensors) form.dtype = dtype;
}

std::string FormatCall(const Call& call) {
  std::string text = kOpNames[static_cast<int>(call.op)];
  const auto number = [&](const char* key, int64_t value) { text += std::string(" ") + key + std::to_string(value); };
  const auto axes = [&](const char* key, const std::vector<int64_t>& values) {
    text += std::string(" ") + key + Joined(values);
  };
  text += std::string(" ") + DTypeName(call.form(CallTensor::kInput).dtype);
  if (IsTbc(call.op)) {
    axes("t", call.input_size);
    number("b", call.batch);
  } else {
    number("n", call.batch);
  }
  number("ci", call.input_channels);
  number("co", call.output_channels);
  if (!IsTbc(call.op)) axes("in", call.input_size);
  axes("k", call.kernel);
  if (IsTbc(call.op)) {
    axes("pad", call.padding);
  } else {
    axes("s", call.stride);
    axes("p", call.padding);
    axes("d", call.dilation);
    if (call.op != CallOp::kDepthwiseForward) number("g", call.groups);
    if (call.transposed) text += " transposed";
    const bool padded =
        std::any_of(call.output_padding.begin(), call.output_padding.end(), [](auto v) { return v != 0; });
    if (call.transposed || padded) axes("op", call.output_padding);
  }
  if (call.op == CallOp::kConvBackward) {
    text += " mask";
    for (const bool wanted : call.mask) text += wanted ? '1' : '0';
  }
  number("math", call.math);
  for (int i = 0; i < kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    if (CallHasTensor(call, tensor)) text += FormatTensor(call, tensor);
  }
  return text;
}

}  // namespace canopy::conv
