// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_case.h"

#include <algorithm>

namespace canopy::bench {
namespace {

using conv::Call;
using conv::CallOp;
using conv::CallTensor;

constexpr const char* kTypes[] = {"f32", "f16", "bf16", "hif8", "f8e4m3"};
constexpr int kUseHf32 = 3;

std::string Joined(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : "x") + std::to_string(value);
  return text;
}

bool All(const std::vector<int64_t>& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [=](int64_t value) { return value == wanted; });
}

std::string PlaneClass(const Call& call) {
  const int64_t widest = *std::max_element(call.kernel.begin(), call.kernel.end());
  const int64_t most = std::max(call.input_channels, call.output_channels);
  const int64_t least = std::min(call.input_channels, call.output_channels);
  if (most <= 16) return "tiny";
  if (call.groups > 1) {
    if (call.groups != call.input_channels) return "grouped";
    return widest > 11 ? "dwlarge" : "dw";
  }
  if (least <= 4) return "stem";
  if (least % 8 != 0 || most % 8 != 0) return "odd";
  if (!All(call.dilation, 1)) return "dilated";
  if (!All(call.kernel, call.kernel[0])) return "asym";
  if (widest == 1) return "1x1";
  if (widest == 3) return All(call.stride, 1) ? "3x3" : "3x3s2";
  return "wide";
}

}  // namespace

const char* WhatName(What what) {
  constexpr const char* kNames[] = {"call", "data", "weights", "bias"};
  return kNames[static_cast<int>(what)];
}

What WhatOfName(const std::string& name) {
  for (const What what : kWhats) {
    if (name == WhatName(what)) return what;
  }
  return What::kCall;
}

bool IsTbc(const Call& call) { return call.op == CallOp::kTbcBackward || call.op == CallOp::kTbcForward; }
bool IsBackward(const Call& call) { return call.op == CallOp::kConvBackward || call.op == CallOp::kTbcBackward; }

bool Offers(const Call& call, What what) {
  if (what == What::kCall) return true;
  return call.op == CallOp::kConvBackward && call.mask[static_cast<int>(what) - 1];
}

Call CallFor(const Call& call, What what) {
  Call result = call;
  if (what == What::kCall) return result;
  result.mask = {what == What::kData, what == What::kWeights, what == What::kBias};
  return result;
}

bool IsType(const std::string& type) {
  return type == "hf32" || std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

std::string TypeOf(const Call& call) {
  const numerics::DType type = call.form(CallTensor::kInput).dtype;
  for (int i = 0; i < conv::kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    if (conv::CallHasTensor(call, tensor) && call.form(tensor).dtype != type) return "mixed";
  }
  if (type == numerics::DType::kFloat32 && (call.math == 1 || call.math == kUseHf32)) return "hf32";
  return conv::DTypeName(type);
}

void SetType(const std::string& type, Call* call) {
  call->math = type == "hf32" ? kUseHf32 : 0;
  const std::string stored = type == "hf32" ? "f32" : type;
  const auto* const found = std::find(std::begin(kTypes), std::end(kTypes), stored);
  conv::SetCallDType(call, static_cast<numerics::DType>(found - std::begin(kTypes)));
}

std::string ClassOf(const Call& call) {
  if (!IsBackward(call)) return "forward";
  if (IsTbc(call)) return "tbc";
  if (call.input_size.size() == 3) return "3d";
  if (call.input_size.size() == 1) return "1d";
  return call.transposed ? "transp" : PlaneClass(call);
}

std::string ShortName(const Call& call) {
  std::string text = IsTbc(call) ? "tbc " : "";
  if (!IsBackward(call)) text += "forward ";
  text += "n" + std::to_string(call.batch) + " " + std::to_string(call.input_channels) + ">" +
          std::to_string(call.output_channels) + " " + Joined(call.input_size) + " k" + Joined(call.kernel);
  if (!All(call.stride, 1)) text += " s" + Joined(call.stride);
  if (!All(call.padding, 0)) text += " p" + Joined(call.padding);
  if (!All(call.dilation, 1)) text += " d" + Joined(call.dilation);
  if (call.groups > 1) text += " g" + std::to_string(call.groups);
  if (call.transposed) text += " transposed";
  return text;
}

}  // namespace canopy::bench
