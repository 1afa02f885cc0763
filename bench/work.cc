// SPDX-License-Identifier: Apache-2.0
#include "bench/work.h"

#include "bench/lowering.h"
#include "conv/work.h"

namespace canopy::bench {
namespace {

using conv::Call;
using conv::CallTensor;

double BytesOf(const Call& call, CallTensor tensor) {
  double bytes = static_cast<double>(numerics::ElementBytes(call.form(tensor).dtype));
  for (const int64_t extent : conv::CallShape(call, tensor)) bytes *= static_cast<double>(extent);
  return bytes;
}

uint8_t ComputationsOf(What what) {
  switch (what) {
    case What::kCall:
      break;
    case What::kData:
      return conv::kForward | conv::kBackwardData;
    case What::kWeights:
      return conv::kBackwardWeights;
    case What::kBias:
      return conv::kBiasFromOutput | conv::kBiasFromInput;
  }
  return 0xFF;
}

double FlopsOf(const Call& call, What what) {
  conv::ConvProblem problem = LowerCall(call, {}).problem;
  problem.computations &= ComputationsOf(what);
  return 2 * conv::UsefulMultiplyAdds(problem);
}

}  // namespace

Work WorkOf(const Call& call, What what) {
  const double input = BytesOf(call, CallTensor::kInput), weight = BytesOf(call, CallTensor::kWeight);
  if (!IsBackward(call)) return {FlopsOf(call, What::kCall), input + weight + BytesOf(call, CallTensor::kOutput)};
  const bool call_whole = what == What::kCall;
  const bool data = call_whole ? call.mask[0] : what == What::kData;
  const bool weights = call_whole ? call.mask[1] : what == What::kWeights;
  const bool bias = call_whole ? call.mask[2] : what == What::kBias;
  Work work{FlopsOf(call, what), BytesOf(call, CallTensor::kGradOutput)};
  if (data) work.bytes += weight + BytesOf(call, CallTensor::kGradInput);
  if (weights) work.bytes += input + BytesOf(call, CallTensor::kGradWeight);
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
