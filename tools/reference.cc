// SPDX-License-Identifier: Apache-2.0
#include "tools/reference.h"

#include <algorithm>
#include <cmath>

#include "numerics/rounding.h"
#include "tests/oracle/parallel.h"
#include "tests/oracle/whole.h"

namespace canopy::tools {
namespace {

using oracle::Extent3;
using oracle::Index5;

// For each of the oracle's five axes, the tensor's axis that it is, or -1.
std::array<int, 5> AxisMap(CallOp op, CallTensor tensor, size_t rank) {
  const bool weight = tensor == CallTensor::kWeight || tensor == CallTensor::kGradWeight;
  if (IsTbc(op)) return weight ? std::array{2, 1, -1, -1, 0} : std::array{1, 2, -1, -1, 0};
  std::array<int, 5> map{0, 1, -1, -1, -1};
  for (size_t axis = 2; axis < rank; ++axis) map[5 - rank + axis] = static_cast<int>(axis);
  return map;
}

// Spatial values of an attribute on the oracle's three axes.
Extent3 OnThreeAxes(const std::optional<Extents>& values, int64_t fallback) {
  Extent3 result{fallback, fallback, fallback};
  if (!values) return result;
  for (size_t i = 0; i < values->size() && i < 3; ++i) result[3 - values->size() + i] = (*values)[i];
  return result;
}

// Padding in front: of the long forms (a pair for each axis) every other number.
Extent3 PadBegin(const Case& a_case, size_t spatial) {
  if (IsTbc(a_case.op)) return {0, 0, a_case.attributes.pad};
  const Extents& padding = *a_case.attributes.padding;
  Extents begin = padding;
  if (padding.size() == 2 * spatial) {
    begin.clear();
    for (size_t i = 0; i < padding.size(); i += 2) begin.push_back(padding[i]);
  }
  return OnThreeAxes(begin, 0);
}

Index5 ExtentsOn5(CallOp op, CallTensor tensor, const Extents& shape) {
  const std::array<int, 5> map = AxisMap(op, tensor, shape.size());
  Index5 extents;
  for (int axis = 0; axis < 5; ++axis) extents[axis] = map[axis] < 0 ? 1 : shape[map[axis]];
  return extents;
}

Index5 StridesOn5(CallOp op, CallTensor tensor, const Extents& shape) {
  const std::array<int, 5> map = AxisMap(op, tensor, shape.size());
  const Extents packed = PackedStrides(shape);
  Index5 strides;
  for (int axis = 0; axis < 5; ++axis) strides[axis] = map[axis] < 0 ? 0 : packed[map[axis]];
  return strides;
}

void RoundAll(std::vector<float>* values, const Precision& precision) {
  oracle::ParallelFor((static_cast<int64_t>(values->size()) + 65535) / 65536, [&](int64_t block) {
    const size_t end = std::min<size_t>(values->size(), (block + 1) * 65536);
    for (size_t i = block * 65536; i < end; ++i) {
      (*values)[i] = numerics::RoundInput((*values)[i], precision.rounding, precision.saturate);
    }
  });
}

}  // namespace

Reference::Reference(const Case& a_case, InputValues inputs, const Precision& precision)
    : case_(a_case), inputs_(std::move(inputs)) {
  const bool backward = IsBackward(a_case.op);
  const bool transposed = a_case.attributes.transposed && !IsTbc(a_case.op);
  const CallTensor result = backward ? CallTensor::kGradOutput : CallTensor::kOutput;
  image_ = transposed ? result : CallTensor::kInput;
  response_ = transposed ? CallTensor::kInput : result;

  const size_t spatial = SpecOf(CallTensor::kInput).shape.size() - 2;
  const Index5 image = ExtentsOn5(a_case.op, image_, SpecOf(image_).shape);
  const Index5 response = ExtentsOn5(a_case.op, response_, SpecOf(response_).shape);
  const Index5 weight = ExtentsOn5(a_case.op, CallTensor::kWeight, SpecOf(CallTensor::kWeight).shape);
  geometry_.batch = image[0];
  geometry_.groups = a_case.op == CallOp::kDepthwiseForward ? image[1]
                     : IsTbc(a_case.op)                     ? 1
                                                            : a_case.attributes.groups;
  geometry_.image_channels = image[1];
  geometry_.response_channels = response[1];
  for (int axis = 0; axis < 3; ++axis) {
    geometry_.image[axis] = image[2 + axis];
    geometry_.response[axis] = response[2 + axis];
    geometry_.kernel[axis] = weight[2 + axis];
  }
  if (!IsTbc(a_case.op)) {
    geometry_.stride = OnThreeAxes(a_case.attributes.stride, 1);
    geometry_.dilation = OnThreeAxes(a_case.attributes.dilation, 1);
  }
  geometry_.pad = PadBegin(a_case, spatial);

  if (precision.rounding == numerics::InputRounding::kNone) return;
  const std::vector<CallTensor> wanted = WantedOutputs(a_case);
  if (std::count(wanted.begin(), wanted.end(), CallTensor::kGradBias) > 0) {
    plain_grad_output_ = inputs_[static_cast<int>(CallTensor::kGradOutput)];
  }
  for (const CallTensor tensor : {CallTensor::kGradOutput, CallTensor::kInput, CallTensor::kWeight}) {
    RoundAll(&inputs_[static_cast<int>(tensor)], precision);
  }
}

Reference::Role Reference::RoleOf(CallTensor output) const {
  if (output == CallTensor::kGradWeight) return Role::kWeight;
  if (output == CallTensor::kGradBias) {
    // The one rule that is not a sum: without input or weight elements the convolution's bias gradient is zero.
    const bool no_elements =
        Volume(SpecOf(CallTensor::kInput).shape) == 0 || Volume(SpecOf(CallTensor::kWeight).shape) == 0;
    return no_elements && case_.op == CallOp::kConvBackward ? Role::kZero : Role::kBiasGradient;
  }
  const CallTensor played = output == CallTensor::kGradInput ? CallTensor::kInput : CallTensor::kOutput;
  return played == image_ ? Role::kImage : Role::kResponse;
}

oracle::Array Reference::ArrayOf(CallTensor tensor) const {
  return {inputs_[static_cast<int>(tensor)].data(), StridesOn5(case_.op, tensor, SpecOf(tensor).shape)};
}

Index5 Reference::Split(CallTensor tensor, int64_t index) const {
  const Extents& shape = SpecOf(tensor).shape;
  const std::array<int, 5> map = AxisMap(case_.op, tensor, shape.size());
  const Extents packed = PackedStrides(shape);
  Index5 result{};
  for (int axis = 0; axis < 5; ++axis) {
    if (map[axis] >= 0) result[axis] = index / packed[map[axis]] % shape[map[axis]];
  }
  return result;
}

double Reference::BiasAt(CallTensor output, const Index5& index) const {
  const std::vector<float>& bias = inputs_[static_cast<int>(CallTensor::kBias)];
  return output == CallTensor::kOutput && SpecOf(CallTensor::kBias).present ? bias[index[1]] : 0;
}

double Reference::TermNormAt(CallTensor output, int64_t index) const {
  return std::sqrt(SumAt(output, index, oracle::Sum::kSquares));
}

double Reference::SumAt(CallTensor output, int64_t index, oracle::Sum sum) const {
  using oracle::Array;
  if (output == CallTensor::kGradBias) {
    if (RoleOf(output) == Role::kZero) return 0;
    Array gradient = ArrayOf(CallTensor::kGradOutput);
    if (!plain_grad_output_.empty()) gradient.data = plain_grad_output_.data();
    const Extent3& size = image_ == CallTensor::kGradOutput ? geometry_.image : geometry_.response;
    return oracle::ChannelSumAt(geometry_.batch, size, gradient, index, sum);
  }
  const Index5 at = Split(output, index);
  const double bias = BiasAt(output, at);
  const double bias_term = sum == oracle::Sum::kTerms ? bias : bias * bias;
  switch (RoleOf(output)) {
    case Role::kImage:
      return oracle::ImageAt(geometry_, ArrayOf(response_), ArrayOf(CallTensor::kWeight), at, sum) + bias_term;
    case Role::kResponse:
      return oracle::ResponseAt(geometry_, ArrayOf(image_), ArrayOf(CallTensor::kWeight), at, sum) + bias_term;
    default:
      return oracle::WeightAt(geometry_, ArrayOf(image_), ArrayOf(response_), at, sum);
  }
}

std::vector<double> Reference::Whole(CallTensor output) const {
  std::vector<double> values(Volume(SpecOf(output).shape));
  const int64_t count = static_cast<int64_t>(values.size());
  if (output == CallTensor::kGradBias) {
    oracle::ParallelFor(count, [&](int64_t i) { values[i] = At(output, i); });
    return values;
  }
  const oracle::Result result{values.data(), StridesOn5(case_.op, output, SpecOf(output).shape)};
  switch (RoleOf(output)) {
    case Role::kImage:
      oracle::WholeImage(geometry_, ArrayOf(response_), ArrayOf(CallTensor::kWeight), result);
      break;
    case Role::kResponse:
      oracle::WholeResponse(geometry_, ArrayOf(image_), ArrayOf(CallTensor::kWeight), result);
      break;
    default:
      oracle::WholeWeight(geometry_, ArrayOf(image_), ArrayOf(response_), result);
  }
  if (output == CallTensor::kOutput && SpecOf(CallTensor::kBias).present) {
    for (int64_t i = 0; i < count; ++i) values[i] += BiasAt(output, Split(output, i));
  }
  return values;
}

int64_t Reference::Terms(CallTensor output) const {
  const auto volume = [](const Extent3& e) { return e[0] * e[1] * e[2]; };
  const int64_t taps = volume(geometry_.kernel);
  switch (RoleOf(output)) {
    case Role::kImage:
      return geometry_.group_response_channels() * taps + 1;
    case Role::kResponse:
      return geometry_.group_image_channels() * taps + 1;
    case Role::kWeight:
      return geometry_.batch * volume(geometry_.response);
    default:
      return geometry_.batch * volume(image_ == CallTensor::kGradOutput ? geometry_.image : geometry_.response);
  }
}

double Reference::Flops() const {
  double flops = 0;
  const double taps = static_cast<double>(geometry_.kernel[0] * geometry_.kernel[1] * geometry_.kernel[2]);
  const double multiplies = taps * static_cast<double>(geometry_.group_image_channels()) *
                            static_cast<double>(Volume(SpecOf(response_).shape));
  for (const CallTensor output : WantedOutputs(case_)) {
    flops += output == CallTensor::kGradBias ? static_cast<double>(Volume(SpecOf(CallTensor::kGradOutput).shape))
                                             : 2 * multiplies;
  }
  return flops;
}

}  // namespace canopy::tools
