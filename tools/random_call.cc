// SPDX-License-Identifier: Apache-2.0
#include "tools/random_call.h"

#include <algorithm>

#include "tools/case.h"
#include "tools/tensor_data.h"

namespace canopy::tools {
namespace {

using conv::Call;
using numerics::DType;

class Dice {
 public:
  explicit Dice(uint64_t key) : key_(key) {}

  int64_t Within(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Draw(key_, count_++) % static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int64_t n) { return Within(1, n) == 1; }

  // Mostly small, often at a vector's width or one beside it.
  int64_t Extent(int64_t most) {
    constexpr int64_t kTails[] = {4, 8, 14, 16, 28, 32, 48, 64};
    const int64_t value = OneIn(2) ? Within(1, 9) : kTails[Within(0, 7)] + Within(-1, 1);
    return std::min(value, most);
  }

 private:
  uint64_t key_;
  uint64_t count_ = 0;
};

void DrawGeometry(Dice* dice, Call* call) {
  const bool tbc = IsTbc(call->op);
  const bool depthwise = call->op == CallOp::kDepthwiseForward;
  const size_t rank = tbc ? 1 : depthwise ? 2 : static_cast<size_t>(dice->Within(1, 3));
  call->transposed = !tbc && !depthwise && dice->OneIn(3);
  call->batch = dice->OneIn(4) ? dice->Extent(40) : dice->Within(1, 3);
  call->groups = tbc || dice->OneIn(2) ? 1 : dice->Within(2, 6);
  call->input_channels = call->groups * (dice->OneIn(3) ? dice->Extent(70) : dice->Within(1, 5));
  call->output_channels = call->groups * (dice->OneIn(3) ? dice->Extent(70) : dice->Within(1, 5));
  if (depthwise || (!tbc && dice->OneIn(5))) {  // a channel multiplier
    call->groups = call->input_channels = dice->Extent(70);
    call->output_channels = call->groups * dice->Within(1, 3);
  }
  const int64_t most = rank == 1 ? 200 : rank == 2 ? 66 : 20;
  for (size_t axis = 0; axis < rank; ++axis) {
    call->input_size.push_back(dice->Extent(most));
    call->kernel.push_back(dice->OneIn(6) ? dice->Within(4, 9) : dice->Within(1, 3));
    call->stride.push_back(!tbc && dice->OneIn(2) ? dice->Within(1, 5) : 1);
    call->dilation.push_back(!tbc && dice->OneIn(3) ? dice->Within(1, 4) : 1);
    const int64_t window = call->dilation[axis] * (call->kernel[axis] - 1);
    call->padding.push_back(dice->OneIn(8) ? window + dice->Within(0, 3)
                                           : dice->Within(0, std::min<int64_t>(window, 3)));
    const int64_t room = std::max(call->stride[axis], IsBackward(call->op) ? 1 : call->dilation[axis]);
    call->output_padding.push_back(call->transposed ? dice->Within(0, room - 1) : 0);
  }
  if (rank == 2 && !depthwise && dice->OneIn(4)) {
    Extents ends;
    for (const int64_t pad : call->padding) ends.insert(ends.end(), {pad, dice->Within(0, 3)});
    call->padding = ends;
  }
}

void MixTypes(Dice* dice, Call* call) {
  const auto draw = [&] { return static_cast<DType>(dice->Within(0, 2)); };
  // The TBC operators and the depthwise one tie their types together; only bias tensors are free in the first.
  if (call->op == CallOp::kTbcBackward) call->form(CallTensor::kGradBias).dtype = draw();
  if (IsTbc(call->op)) call->form(CallTensor::kBias).dtype = draw();
  if (call->op == CallOp::kConvForward) {
    for (const CallTensor tensor : {CallTensor::kWeight, CallTensor::kOutput}) call->form(tensor).dtype = draw();
    if (call->has_bias) call->form(CallTensor::kBias).dtype = draw();
  }
  if (call->op == CallOp::kConvBackward) {
    for (const CallTensor tensor : {CallTensor::kGradOutput, CallTensor::kWeight, CallTensor::kGradInput,
                                    CallTensor::kGradWeight, CallTensor::kGradBias}) {
      call->form(tensor).dtype = draw();
    }
  }
}

void DrawTypes(Dice* dice, Call* call) {
  conv::SetCallDType(call, static_cast<DType>(dice->Within(0, 2)));
  call->math = static_cast<int>(dice->Within(0, 3));
  if (dice->OneIn(4)) MixTypes(dice, call);
  // A2 refuses FLOAT weight gradients of grouped 3D calls that multiply 16-bit values.
  if (call->op == CallOp::kConvBackward && call->input_size.size() == 3 && call->groups > 1) {
    call->form(CallTensor::kGradWeight).dtype = dice->OneIn(2) ? DType::kFloat16 : DType::kBFloat16;
  }
}

// A view: axes in another order, gaps between rows, expanded axes (inputs only), an offset.
void DrawView(Dice* dice, Call* call, CallTensor tensor) {
  const Extents shape = conv::CallShape(*call, tensor);
  call->form(tensor).offset = dice->Within(0, 9);
  if (dice->OneIn(3)) return;
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (dice->OneIn(2)) {
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[dice->Within(0, static_cast<int64_t>(i) - 1)]);
    }
  }
  Extents strides(shape.size());
  int64_t step = dice->OneIn(5) ? 2 : 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step = step * shape[order[i]] + (dice->OneIn(3) ? dice->Within(1, 5) : 0);
  }
  if (!IsOutput(tensor) && dice->OneIn(8)) strides[dice->Within(0, static_cast<int64_t>(shape.size()) - 1)] = 0;
  conv::SetCallStrides(call, tensor, strides);
}

double Cost(const Call& call) {
  double cost = static_cast<double>(call.batch * call.input_channels * call.output_channels);
  const Extents output = conv::CallOutputSize(call);
  for (size_t axis = 0; axis < output.size(); ++axis) {
    cost *= static_cast<double>(call.kernel[axis]) *
            static_cast<double>(call.transposed ? call.input_size[axis] : output[axis]);
  }
  return 4 * cost / static_cast<double>(call.groups);
}

bool HasElements(const Call& call) {
  const Extents output = conv::CallOutputSize(call);
  return std::all_of(output.begin(), output.end(), [](int64_t extent) { return extent > 0; });
}

}  // namespace

Call RandomCall(uint64_t seed, uint64_t i) {
  for (uint64_t attempt = 0;; ++attempt) {
    Dice dice(Draw(Draw(seed, i), attempt));
    Call call;
    call.op = dice.OneIn(2) ? CallOp::kConvBackward : static_cast<CallOp>(dice.Within(1, 4));
    DrawGeometry(&dice, &call);
    if (!HasElements(call) || Cost(call) > 3e7) continue;
    call.has_bias = IsTbc(call.op) || (!IsBackward(call.op) && dice.OneIn(2));
    DrawTypes(&dice, &call);
    if (call.op == CallOp::kConvBackward && dice.OneIn(2)) {
      for (bool& wanted : call.mask) wanted = dice.OneIn(2);
    }
    for (int t = 0; t < conv::kCallTensors; ++t) {
      const CallTensor tensor = static_cast<CallTensor>(t);
      if (conv::CallHasTensor(call, tensor) && dice.OneIn(4)) DrawView(&dice, &call, tensor);
    }
    return call;
  }
}

}  // namespace canopy::tools
