// SPDX-License-Identifier: Apache-2.0
#include "opapi/conv_run.h"

#include <chrono>

#include "base/log.h"
#include "opapi/dtypes.h"
#include "opapi/require.h"
#include "opapi/text.h"
#include "opapi/zero_fill.h"

namespace canopy::opapi {
namespace {

void* AddressIn(const nnopbase::TensorAddresses& addresses, int slot, int64_t offset_bytes) {
  void* base = addresses[slot];
  return base == nullptr ? nullptr : static_cast<char*>(base) + offset_bytes;
}

void SetBuffer(conv::Buffers* buffers, Role role, void* address) {
  switch (role) {
    case Role::kInput:
      buffers->input = address;
      break;
    case Role::kWeight:
      buffers->weight = address;
      break;
    case Role::kOutput:
      buffers->output = address;
      break;
    case Role::kBias:
      buffers->bias = address;
      break;
    case Role::kInputResult:
      buffers->input_result = address;
      break;
    case Role::kWeightResult:
      buffers->weight_result = address;
      break;
    case Role::kOutputResult:
      buffers->output_result = address;
      break;
    case Role::kBiasResult:
      buffers->bias_result = address;
      break;
    case Role::kZeros:
      break;
  }
}

// Two a multiply-add, one an element summed into a bias.
double Flops(const conv::ConvProblem& problem) {
  const conv::Geometry& g = problem.geometry;
  double inputs = static_cast<double>(g.batch * g.input_channels), outputs = static_cast<double>(g.batch);
  for (int axis = 0; axis < 3; ++axis) {
    inputs *= static_cast<double>(g.input_size[axis]);
    outputs *= static_cast<double>(g.output_size[axis]);
  }
  outputs *= static_cast<double>(g.output_channels);
  const double terms = 2 * outputs * static_cast<double>(g.group_input_channels() * g.taps());
  double flops = 0;
  for (unsigned computation : {conv::kForward, conv::kBackwardData, conv::kBackwardWeights}) {
    if ((problem.computations & computation) != 0) flops += terms;
  }
  if ((problem.computations & conv::kBiasFromOutput) != 0) flops += outputs;
  if ((problem.computations & conv::kBiasFromInput) != 0) flops += inputs;
  return flops;
}

}  // namespace

ConvRun::ConvRun(const char* operator_name, const Lowered& lowered, std::shared_ptr<const conv::Plan> plan,
                 std::string text)
    : operator_name_(operator_name),
      plan_(std::move(plan)),
      text_(std::move(text)),
      slot_count_(lowered.binding_count),
      flops_(Flops(lowered.problem)) {
  for (int i = 0; i < slot_count_; ++i) {
    const TensorArgument& tensor = *lowered.bindings[i].tensor;
    const int64_t bytes = numerics::ElementBytes(ToDType(tensor.view.dtype));
    const int64_t offset = tensor.empty() ? 0 : tensor.view.offset * bytes;  // an empty view's may be anything
    slots_[i] = {tensor.name, lowered.bindings[i].role, offset, !tensor.empty()};
    if (slots_[i].role == Role::kZeros) zeros_.push_back({i, tensor.view});
  }
}

base::Status ConvRun::Check(const nnopbase::TensorAddresses& addresses) const {
  for (int i = 0; i < slot_count_; ++i) {
    if (!slots_[i].has_elements || addresses[i] != nullptr) continue;
    return Refuse(Text(operator_name_, ": ", slots_[i].name, " data"), "NULL",
                  "an address, for the tensor has elements", kNullPointer);
  }
  return {};
}

void ConvRun::Compute(void* workspace, const nnopbase::TensorAddresses& addresses, bool saturate) const noexcept {
  if (plan_ != nullptr) {
    conv::Buffers buffers;
    for (int i = 0; i < slot_count_; ++i) {
      SetBuffer(&buffers, slots_[i].role, AddressIn(addresses, i, slots_[i].offset_bytes));
    }
    conv::Run(*plan_, buffers, workspace, saturate);
  }
  for (const Zeros& zeros : zeros_) {
    FillZeros(zeros.view, numerics::ElementBytes(ToDType(zeros.view.dtype)),
              AddressIn(addresses, zeros.slot, slots_[zeros.slot].offset_bytes));
  }
}

int ConvRun::Run(void* workspace, const nnopbase::TensorAddresses& addresses, bool saturate) const noexcept {
  if (base::Verbosity() == 0) {
    Compute(workspace, addresses, saturate);
    return 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  Compute(workspace, addresses, saturate);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
  base::VerboseLine("%s %.3f ms %.1f GFLOP/s", text_.c_str(), elapsed.count(), flops_ / elapsed.count() * 1e-6);
  return 0;
}

}  // namespace canopy::opapi
