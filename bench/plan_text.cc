// SPDX-License-Identifier: Apache-2.0
#include "bench/plan_text.h"

#include <memory>

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

namespace canopy::bench {
namespace {

conv::ConvProblem Problem(const conv::Call& call, const product::Product& product) {
  const bool saturate = !product.inf_nan_mode;
  switch (call.op) {
    case conv::CallOp::kConvBackward:
      return opapi::convolution_backward::Lower(opapi::convolution_backward::FromCall(call), product, saturate).problem;
    case conv::CallOp::kTbcBackward:
      return opapi::conv_tbc_backward::Lower(opapi::conv_tbc_backward::FromCall(call), product, saturate).problem;
    case conv::CallOp::kConvForward:
      return opapi::convolution::Lower(opapi::convolution::FromCall(call), product, saturate).problem;
    case conv::CallOp::kTbcForward:
      return opapi::conv_tbc::Lower(opapi::conv_tbc::FromCall(call), product, saturate).problem;
    case conv::CallOp::kDepthwiseForward:
      break;
  }
  return opapi::conv_depthwise2d::Lower(opapi::conv_depthwise2d::FromCall(call), product, saturate).problem;
}

}  // namespace

PlanText DescribePlan(const conv::Call& call) {
  const product::Product* product = product::CurrentProduct();
  if (product == nullptr) return {};
  const conv::ConvProblem problem = Problem(call, *product);
  if (problem.computations == 0) return {"nothing", "nothing to compute\n"};
  std::shared_ptr<const conv::Plan> plan;
  if (!conv::MakePlan(problem, &plan).ok()) return {};
  return {conv::AlgorithmNames(*plan), conv::Describe(*plan)};
}

}  // namespace canopy::bench
