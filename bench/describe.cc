// SPDX-License-Identifier: Apache-2.0
#include "bench/describe.h"

namespace canopy::bench {
namespace {

using conv::CallTensor;
using nlohmann::json;

constexpr const char* kOps[] = {"conv_backward", "tbc_backward", "conv_forward", "tbc_forward", "depthwise_forward"};

// Padding in front of each axis, and behind.
std::pair<std::vector<int64_t>, std::vector<int64_t>> Padding(const conv::Call& call) {
  if (call.padding.size() != 2 * call.input_size.size()) return {call.padding, call.padding};
  std::vector<int64_t> begin, end;
  for (size_t i = 0; i < call.padding.size(); ++i) (i % 2 == 0 ? begin : end).push_back(call.padding[i]);
  return {begin, end};
}

}  // namespace

json Describe(const conv::Call& call, const SharedData& data) {
  json tensors = json::object();
  for (int i = 0; i < conv::kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    if (!data.as_case().tensors[i].present) continue;
    const numerics::DType type = call.form(tensor).dtype;
    tensors[conv::CallTensorName(tensor)] = {
        {"shape", conv::CallShape(call, tensor)}, {"strides", conv::CallStrides(call, tensor)},
        {"offset", call.form(tensor).offset},     {"type", conv::DTypeName(type)},
        {"at", data.offset_of(tensor)},           {"elements", data.bytes_of(tensor) / numerics::ElementBytes(type)}};
  }
  const auto [begin, end] = Padding(call);
  return {{"op", kOps[static_cast<int>(call.op)]},
          {"tensors", tensors},
          {"output_channels", call.output_channels},
          {"stride", call.stride},
          {"padding", begin},
          {"padding_end", end},
          {"dilation", call.dilation},
          {"output_padding", call.output_padding},
          {"groups", call.groups},
          {"transposed", call.transposed},
          {"mask", call.mask}};
}

}  // namespace canopy::bench
