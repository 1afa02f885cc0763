// SPDX-License-Identifier: Apache-2.0
#include "tests/sweep/draw.h"

#include <algorithm>
#include <numeric>

namespace canopy::sweep {
namespace {

using conv::Call;
using conv::CallLayout;
using conv::CallOp;
using conv::CallTensor;
using numerics::DType;
using Extents = std::vector<int64_t>;

constexpr CallTensor kAllTensors[] = {CallTensor::kGradOutput, CallTensor::kInput,     CallTensor::kWeight,
                                      CallTensor::kBias,       CallTensor::kGradInput, CallTensor::kGradWeight,
                                      CallTensor::kGradBias,   CallTensor::kOutput};

// One, odd and even small numbers, and both neighbours of 8, 16, 32 and 64: the widths of vectors and of tiles.
const Extents kEdges = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65};

bool IsTbc(const Call& call) { return call.op == CallOp::kTbcBackward || call.op == CallOp::kTbcForward; }

bool IsResult(CallTensor tensor) { return tensor >= CallTensor::kGradInput; }

void DrawChannels(Dice* dice, Call* call) {
  const bool depthwise = call->op == CallOp::kDepthwiseForward;
  const int64_t kind = IsTbc(*call) ? 0 : depthwise ? 99 : dice->Between(0, 99);
  if (kind < 50) {
    call->input_channels = dice->OneOf(kEdges);
    call->output_channels = dice->OneOf(kEdges);
  } else if (kind < 72) {
    call->groups = dice->Between(2, 5);
    call->input_channels = call->groups * dice->OneOf(Extents{1, 2, 3, 4, 8, 9, 16, 17});
    call->output_channels = call->groups * dice->OneOf(Extents{1, 2, 3, 4, 8, 9, 16, 17});
  } else {  // depthwise, with multipliers on either side
    call->groups = dice->OneOf(kEdges);
    const int64_t multiplier = dice->OneOf(Extents{1, 1, 1, 2, 3, 4});
    const bool narrowing = !depthwise && dice->Chance(15);
    call->input_channels = call->groups * (narrowing ? multiplier : 1);
    call->output_channels = call->groups * (narrowing ? 1 : multiplier);
  }
}

int64_t DrawKernel(Dice* dice) { return dice->OneOf(Extents{1, 1, 2, 3, 3, 3, 4, 5, 6, 7, 9}); }

int64_t DrawPadding(Dice* dice, int64_t reach) {
  const int64_t kind = dice->Between(0, 99);
  if (kind < 30) return 0;
  if (kind < 80) return dice->Between(0, reach - 1);
  return reach + dice->Between(0, 3);  // whole windows of padding
}

// Padding of one axis as two ends, wherever the call keeps them.
void AddPadding(Call* call, size_t axis, int64_t front, int64_t behind) {
  const size_t axes = call->input_size.size();
  if (call->padding.size() == axes) {
    call->padding[axis] += std::max(front, behind);
  } else {
    call->padding[2 * axis] += front;
    call->padding[2 * axis + 1] += behind;
  }
}

int64_t PaddingOf(const Call& call, size_t axis) {
  const size_t axes = call.input_size.size();
  return call.padding.size() == axes ? 2 * call.padding[axis] : call.padding[2 * axis] + call.padding[2 * axis + 1];
}

void DrawWindow(Dice* dice, Call* call, size_t axes) {
  const bool tbc = IsTbc(*call), forward = call->op == CallOp::kConvForward;
  const bool two_ended = (axes == 2 && call->op != CallOp::kDepthwiseForward && dice->Chance(25)) ||
                         (axes == 1 && forward && !call->transposed && dice->Chance(25));
  for (size_t axis = 0; axis < axes; ++axis) {
    call->input_size.push_back(dice->Chance(50) ? dice->OneOf(kEdges) : dice->Between(1, 20));
    call->kernel.push_back(DrawKernel(dice));
    call->stride.push_back(tbc || dice->Chance(50) ? 1 : dice->Between(2, 5));
    call->dilation.push_back(tbc || dice->Chance(65) ? 1 : dice->Between(2, 3));
  }
  call->padding.assign(two_ended ? 2 * axes : axes, 0);
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t reach = (call->kernel[axis] - 1) * call->dilation[axis] + 1;
    AddPadding(call, axis, DrawPadding(dice, reach), two_ended ? DrawPadding(dice, reach) : 0);
    const int64_t step = forward ? std::max(call->stride[axis], call->dilation[axis]) : call->stride[axis];
    call->output_padding.push_back(call->transposed ? dice->Between(0, step - 1) : 0);
  }
}

int64_t Reach(const Call& call, size_t axis) { return (call.kernel[axis] - 1) * call.dilation[axis] + 1; }

// The result is at least one long on this axis.
bool Fits(const Call& call, size_t axis) {
  if (!call.transposed) return call.input_size[axis] + PaddingOf(call, axis) >= Reach(call, axis);
  return (call.input_size[axis] - 1) * call.stride[axis] - PaddingOf(call, axis) + Reach(call, axis) +
             call.output_padding[axis] >=
         1;
}

// By padding or by a smaller kernel where the convolution is plain, by no padding where it is transposed.
void MakeWindowsFit(Dice* dice, Call* call) {
  for (size_t axis = 0; axis < call->input_size.size(); ++axis) {
    if (Fits(*call, axis)) continue;
    const int64_t lacking = Reach(*call, axis) - call->input_size[axis] - PaddingOf(*call, axis);
    if (call->transposed) {
      std::fill(call->padding.begin(), call->padding.end(), 0);
    } else if (dice->Chance(60)) {
      AddPadding(call, axis, (lacking + 1) / 2, (lacking + 1) / 2);  // a kernel bigger than its image
    } else {
      call->kernel[axis] = 1;
    }
  }
}

void HalveLargest(Call* call) {
  int64_t* largest = &call->batch;
  for (int64_t& extent : call->input_size) largest = extent > *largest ? &extent : largest;
  const int64_t in = call->input_channels / call->groups;
  const int64_t out = call->output_channels / call->groups;
  if (std::max({in, out, call->groups}) <= *largest) {
    *largest = (*largest + 1) / 2;
  } else if (call->groups >= std::max(in, out)) {
    call->groups /= 2;
    call->input_channels = in * call->groups;
    call->output_channels = out * call->groups;
  } else {
    (in > out ? call->input_channels : call->output_channels) = (std::max(in, out) + 1) / 2 * call->groups;
  }
}

void LimitWork(Call* call, double max_work) {
  while (Work(*call) > max_work) HalveLargest(call);
  for (size_t axis = 0; axis < call->input_size.size(); ++axis) {
    if (Fits(*call, axis)) continue;
    std::fill(call->kernel.begin(), call->kernel.end(), 1);
    std::fill(call->padding.begin(), call->padding.end(), 0);
  }
}

DType Promote(DType a, DType b) { return a == b ? a : DType::kFloat32; }

DType PromotedType(const Call& call) {
  const DType inputs = Promote(call.form(CallTensor::kInput).dtype, call.form(CallTensor::kWeight).dtype);
  const bool backward = call.op == CallOp::kConvBackward || call.op == CallOp::kTbcBackward;
  return backward ? Promote(inputs, call.form(CallTensor::kGradOutput).dtype) : inputs;
}

// Types that differ from the call's common one.
void MixTypes(Dice* dice, const std::vector<DType>& types, Call* call) {
  const auto any = [&](CallTensor tensor) { call->form(tensor).dtype = dice->OneOf(types); };
  switch (call->op) {
    case CallOp::kConvBackward:
    case CallOp::kTbcBackward:
    case CallOp::kConvForward:
      for (const CallTensor tensor : kAllTensors) any(tensor);
      break;
    case CallOp::kTbcForward:
      any(CallTensor::kBias);
      break;
    case CallOp::kDepthwiseForward:
      break;
  }
}

// Results that must have their operand's type.
void TieResults(Generation generation, Call* call) {
  const auto tie = [call](CallTensor result, CallTensor operand) {
    call->form(result).dtype = call->form(operand).dtype;
  };
  const bool tbc = call->op == CallOp::kTbcBackward;
  if (tbc || generation == Generation::kThird) {
    tie(CallTensor::kGradInput, CallTensor::kInput);
    tie(CallTensor::kGradWeight, CallTensor::kWeight);
  }
  if (generation == Generation::kThird) tie(CallTensor::kGradBias, tbc ? CallTensor::kBias : CallTensor::kGradOutput);
}

// What 8-bit types are for: transposed convolutions, and HIFLOAT8 also the plain forward ones.
void Draw8BitTypes(Dice* dice, Call* call) {
  const bool e4m3 = call->transposed && dice->Chance(40);
  const DType type = e4m3 ? DType::kFloat8E4M3 : DType::kHiFloat8;
  if (call->op == CallOp::kConvBackward) {
    if (!call->transposed) return;
    call->mask = {true, !e4m3 && dice->Chance(50), false};
    if (call->mask[1] &&
        (call->groups != 1 || *std::max_element(call->output_padding.begin(), call->output_padding.end()) != 0)) {
      call->mask[1] = false;
    }
    conv::SetCallDType(call, type);
    call->form(CallTensor::kGradInput).null = false;
    call->form(CallTensor::kGradWeight) = {};
    call->form(CallTensor::kGradWeight).null = !call->mask[1];
    call->form(CallTensor::kGradBias).null = true;
  } else if (call->op == CallOp::kConvForward || call->op == CallOp::kTbcForward) {
    conv::SetCallDType(call, type);
    call->has_bias = call->has_bias && !call->transposed;
    call->form(CallTensor::kBias).dtype = dice->OneOf(std::vector<DType>{DType::kFloat32, DType::kBFloat16});
  }
}

void DrawTypes(Dice* dice, Generation generation, Call* call) {
  std::vector<DType> types = {DType::kFloat32, DType::kFloat16};
  if (generation != Generation::kFirst) types.push_back(DType::kBFloat16);
  conv::SetCallDType(call, dice->Chance(25) ? DType::kFloat32 : dice->OneOf(types));
  if (dice->Chance(30)) MixTypes(dice, types, call);
  TieResults(generation, call);
  if (generation == Generation::kThird && dice->Chance(40)) Draw8BitTypes(dice, call);
  // FLOAT is multiplied as FLOAT16 or not at all.
  if (generation == Generation::kFirst && PromotedType(*call) == DType::kFloat32) call->math = 1 + call->math % 2;
  // There is no kernel for FLOAT gradWeight of grouped 3D convolutions that multiply in 16 bits.
  DType* grad_weight = &call->form(CallTensor::kGradWeight).dtype;
  if (generation == Generation::kSecond && call->op == CallOp::kConvBackward && call->input_size.size() == 3 &&
      call->groups > 1 && (call->math == 2 || PromotedType(*call) != DType::kFloat32) &&
      *grad_weight == DType::kFloat32) {
    *grad_weight = DType::kBFloat16;
  }
}

// Any order of the axes in memory, steps and gaps between them; inputs also expanded along one axis.
Extents DrawStrides(Dice* dice, const Extents& shape, bool result) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = order.size(); i > 1; --i) {
    if (dice->Chance(60)) std::swap(order[i - 1], order[static_cast<size_t>(dice->Between(0, i - 1))]);
  }
  const size_t expanded = !result && dice->Chance(20) ? order[0] : shape.size();
  int64_t running = dice->OneOf(Extents{1, 1, 1, 2, 3});
  Extents strides(shape.size());
  for (size_t i = order.size(); i-- > 0;) {
    const size_t axis = order[i];
    strides[axis] = axis == expanded ? 0 : running;
    if (axis != expanded) running = running * std::max<int64_t>(shape[axis], 1) + dice->OneOf(Extents{0, 0, 0, 1, 5});
  }
  return strides;
}

void DrawLayouts(Dice* dice, Call* call) {
  for (const CallTensor tensor : kAllTensors) {
    if (!conv::CallHasTensor(*call, tensor)) continue;
    conv::CallTensorForm& form = call->form(tensor);
    const Extents shape = conv::CallShape(*call, tensor);
    const int64_t kind = dice->Between(0, 99);
    if (kind < 30 && shape.size() > 1) {
      conv::SetCallStrides(call, tensor, DrawStrides(dice, shape, IsResult(tensor)));
    } else if (kind < 45 && !IsTbc(*call) && shape.size() > 2) {
      form.layout = CallLayout::kChannelsLast;
    } else if (kind < 50 && shape.size() == 1) {
      conv::SetCallStrides(call, tensor, {dice->Between(1, 4)});
    }
    if (dice->Chance(30)) form.offset = dice->Between(1, 9);
  }
}

void DrawMask(Dice* dice, Call* call) {
  if (dice->Chance(35)) return;
  const int64_t bits = dice->Between(0, 7);
  constexpr CallTensor kGradients[] = {CallTensor::kGradInput, CallTensor::kGradWeight, CallTensor::kGradBias};
  for (int i = 0; i < 3; ++i) {
    call->mask[i] = (bits >> i) % 2 == 1;
    call->form(kGradients[i]).null = !call->mask[i] && dice->Chance(50);
  }
}

}  // namespace

double Work(const Call& call) {
  double work = static_cast<double>(call.batch) * static_cast<double>(call.input_channels) *
                static_cast<double>(call.output_channels) / static_cast<double>(call.groups);
  const Extents positions = call.transposed ? call.input_size : conv::CallOutputSize(call);
  for (size_t axis = 0; axis < call.kernel.size(); ++axis) {
    work *= static_cast<double>(call.kernel[axis]) * static_cast<double>(positions[axis]);
  }
  return work;
}

Call DrawCall(Dice* dice, double max_work, Generation generation) {
  Call call;
  call.op = dice->OneOf(std::vector<CallOp>{CallOp::kConvBackward, CallOp::kConvBackward, CallOp::kConvBackward,
                                            CallOp::kConvBackward, CallOp::kConvForward, CallOp::kConvForward,
                                            CallOp::kTbcBackward, CallOp::kTbcForward, CallOp::kDepthwiseForward});
  const bool depthwise = call.op == CallOp::kDepthwiseForward;
  size_t axes = IsTbc(call) ? 1 : depthwise ? 2 : static_cast<size_t>(dice->OneOf(Extents{1, 2, 2, 2, 3}));
  if (generation == Generation::kFirst) axes = std::min<size_t>(axes, 2);  // no 3D gradients there
  call.transposed = !IsTbc(call) && !depthwise && dice->Chance(35);
  call.batch = dice->OneOf(Extents{1, 1, 2, 2, 3, 4, 5, 8, 9});
  call.has_bias = IsTbc(call) || (call.op != CallOp::kConvBackward && dice->Chance(60));
  call.math = static_cast<int>(dice->Between(0, 3));
  if (call.op == CallOp::kConvBackward) DrawMask(dice, &call);
  DrawChannels(dice, &call);
  DrawWindow(dice, &call, axes);
  MakeWindowsFit(dice, &call);
  LimitWork(&call, max_work);
  DrawTypes(dice, generation, &call);
  DrawLayouts(dice, &call);
  return call;
}

}  // namespace canopy::sweep
