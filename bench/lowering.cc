// SPDX-License-Identifier: Apache-2.0
#include "bench/lowering.h"

#include <memory>
#include <stdexcept>

#include "conv/conv.h"
#include "opapi/conv_depthwise2d/call.h"
#include "opapi/conv_depthwise2d/lower.h"
#include "opapi/conv_tbc/call.h"
#include "opapi/conv_tbc/lower.h"
#include "opapi/conv_tbc_backward/call.h"
#include "opapi/conv_tbc_backward/lower.h"
#include "opapi/convolution/call.h"
#include "opapi/convolution/lower.h"
#include "opapi/convolution_backward/call.h"
#include "opapi/convolution_backward/lower.h"
#include "tools/case.h"

namespace canopy::bench {
namespace {

char* AddressOf(const conv::Call& call, const std::string& parameter, const Addresses& addresses) {
  for (int i = 0; i < conv::kCallTensors; ++i) {
    const conv::CallTensor tensor = static_cast<conv::CallTensor>(i);
    if (conv::CallHasTensor(call, tensor) && parameter == tools::ParameterName(call.op, tensor)) return addresses[i];
  }
  return nullptr;
}

template <class Arguments>
Lowering Lower(opapi::Lowered (*lower)(const Arguments&, const product::Product&), const Arguments& arguments,
               const conv::Call& call, const Addresses& addresses) {
  const product::Product* product = product::CurrentProduct();
  if (product == nullptr) throw std::runtime_error("CANOPY_SOC names no product");
  const opapi::Lowered lowered = lower(arguments, *product);
  Lowering result{lowered.problem, {}};
  for (int i = 0; i < lowered.binding_count; ++i) {
    const opapi::Lowered::Binding& binding = lowered.bindings[i];
    opapi::SetBuffer(binding.role, AddressOf(call, binding.tensor->name, addresses), &result.buffers);
  }
  return result;
}

}  // namespace

Lowering LowerCall(const conv::Call& call, const Addresses& addresses) {
  switch (call.op) {
    case conv::CallOp::kConvBackward:
      return Lower(opapi::convolution_backward::Lower, opapi::convolution_backward::FromCall(call), call, addresses);
    case conv::CallOp::kTbcBackward:
      return Lower(opapi::conv_tbc_backward::Lower, opapi::conv_tbc_backward::FromCall(call), call, addresses);
    case conv::CallOp::kConvForward:
      return Lower(opapi::convolution::Lower, opapi::convolution::FromCall(call), call, addresses);
    case conv::CallOp::kTbcForward:
      return Lower(opapi::conv_tbc::Lower, opapi::conv_tbc::FromCall(call), call, addresses);
    case conv::CallOp::kDepthwiseForward:
      break;
  }
  return Lower(opapi::conv_depthwise2d::Lower, opapi::conv_depthwise2d::FromCall(call), call, addresses);
}

PlanText DescribePlan(const conv::Call& call) {
  const conv::ConvProblem problem = LowerCall(call, {}).problem;
  if (problem.computations == 0) return {"nothing", "nothing to compute\n"};
  std::shared_ptr<const conv::Plan> plan;
  const base::Status status = conv::MakePlan(problem, &plan);
  if (!status.ok()) throw std::runtime_error(status.message());
  return {conv::AlgorithmNames(*plan), conv::Describe(*plan)};
}

}  // namespace canopy::bench
