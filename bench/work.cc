// SPDX-License-Identifier: Apache-2.0
#include "bench/work.h"

#include <algorithm>

namespace canopy::bench {
namespace {

using conv::Call;
using conv::CallTensor;

double BytesOf(const Call& call, CallTensor tensor) {
  double bytes = static_cast<double>(numerics::ElementBytes(call.form(tensor).dtype));
  for (const int64_t extent : conv::CallShape(call, tensor)) bytes *= static_cast<double>(extent);
  return bytes;
}

// Pairs of a window and a kernel offset along one axis that meet an element of the map. Per offset the windows that do
// are one run.
double UsefulPairs(int64_t map, int64_t windows, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad) {
  double pairs = 0;
  for (int64_t k = 0; k < kernel; ++k) {
    const int64_t shift = k * dilation - pad;  // the map's position under window 0
    const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    const int64_t last = map - 1 - shift < 0 ? -1 : (map - 1 - shift) / stride;
    pairs += static_cast<double>(std::max<int64_t>(0, std::min(last, windows - 1) - first + 1));
  }
  return pairs;
}

// Of one of the sums that a call asks for; each has the same multiply-adds.
double FlopsOfSum(const Call& call) {
  const bool depthwise = call.op == conv::CallOp::kDepthwiseForward;
  const double groups = static_cast<double>(depthwise ? call.input_channels : call.groups);
  double flops = 2.0 * static_cast<double>(call.batch) * static_cast<double>(call.input_channels) *
                 static_cast<double>(call.output_channels) / groups;
  const std::vector<int64_t> output = conv::CallOutputSize(call);
  const bool pairs_of_padding = call.padding.size() == 2 * call.input_size.size();
  for (size_t axis = 0; axis < call.input_size.size(); ++axis) {
    const int64_t map = call.transposed ? output[axis] : call.input_size[axis];
    const int64_t windows = call.transposed ? call.input_size[axis] : output[axis];
    flops *= UsefulPairs(map, windows, call.kernel[axis], call.stride[axis], call.dilation[axis],
                         call.padding[pairs_of_padding ? 2 * axis : axis]);
  }
  return flops;
}

}  // namespace

Work WorkOf(const Call& call, What what) {
  const double flops = FlopsOfSum(call);
  const double input = BytesOf(call, CallTensor::kInput), weight = BytesOf(call, CallTensor::kWeight);
  if (!IsBackward(call)) return {flops, input + weight + BytesOf(call, CallTensor::kOutput)};
  const bool call_whole = what == What::kCall;
  const bool data = call_whole ? call.mask[0] : what == What::kData;
  const bool weights = call_whole ? call.mask[1] : what == What::kWeights;
  const bool bias = call_whole ? call.mask[2] : what == What::kBias;
  Work work{0, BytesOf(call, CallTensor::kGradOutput)};
  if (data) work.flops += flops, work.bytes += weight + BytesOf(call, CallTensor::kGradInput);
  if (weights) work.flops += flops, work.bytes += input + BytesOf(call, CallTensor::kGradWeight);
  if (bias) work.bytes += BytesOf(call, CallTensor::kGradBias);
  return work;
}

double TensorBytes(const Call& call) {
  double bytes = 0;
  for (int i = 0; i < conv::kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    const int gradient = i - static_cast<int>(CallTensor::kGradInput);
    const bool unwanted = IsBackward(call) && gradient >= 0 && gradient < 3 && !call.mask[gradient];
    if (conv::CallHasTensor(call, tensor) && !unwanted) bytes += BytesOf(call, tensor);
  }
  return bytes;
}

}  // namespace canopy::bench
