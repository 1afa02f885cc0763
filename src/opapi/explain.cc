// SPDX-License-Identifier: Apache-2.0
#include "opapi/explain.h"

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
#include "opapi/names.h"
#include "opapi/text.h"

namespace canopy::opapi {
namespace {

const char* RoundingInWords(numerics::InputRounding rounding) {
  switch (rounding) {
    case numerics::InputRounding::kNone:
      return "as it is";
    case numerics::InputRounding::kFloat16:
      return "rounded to FLOAT16";
    case numerics::InputRounding::kBFloat16:
      return "rounded to BF16";
    case numerics::InputRounding::kHfloat32x11:
      return "rounded to HF32 with 11 mantissa bits";
    case numerics::InputRounding::kHfloat32x10:
      return "rounded to HF32 with 10 mantissa bits";
  }
  return "";
}

std::string ResultInWords(aclDataType dtype, bool saturate) {
  const char* ties = dtype == ACL_HIFLOAT8 ? "to nearest, ties away from 0" : "to nearest even";
  if (dtype == ACL_FLOAT8_E4M3FN) return Text("rounded once, ", ties, "; overflow gives 448, the type has no Inf");
  return Text("rounded once, ", ties, saturate ? "; overflow gives the greatest value, NaN 0" : "; overflow gives Inf");
}

std::vector<std::string> PrecisionOf(const Lowered& lowered) {
  const numerics::NumericRule& rule = lowered.problem.rule;
  std::vector<std::string> lines;
  const uint8_t products = conv::kForward | conv::kBackwardData | conv::kBackwardWeights;
  for (int i = 0; i < lowered.binding_count; ++i) {
    const auto& [tensor, role] = lowered.bindings[i];
    const std::string name = Text(tensor->name, " (", Name(tensor->view.dtype), ")");
    const std::string result = ResultInWords(tensor->view.dtype, rule.saturate);
    switch (role) {
      case Role::kInput:
      case Role::kWeight:
      case Role::kOutput:
        if ((lowered.problem.computations & products) != 0) {
          lines.push_back(Text(name, " is multiplied ", RoundingInWords(rule.input_rounding)));
        }
        break;
      case Role::kBias:
        lines.push_back(Text(name, " is added to the FP32 sum, unrounded"));
        break;
      case Role::kZeros:
        lines.push_back(Text(name, " is zeros"));
        break;
      case Role::kBiasResult:
        lines.push_back(Text(name, " is the sum of the gradient in its own type, ", result));
        break;
      default:
        lines.push_back(Text(name, " is the FP32 sum ", result));
    }
  }
  return lines;
}

template <class Arguments>
Explanation Walk(const Arguments& arguments, std::span<const Rule<Arguments>> rules,
                 Lowered (*lower)(const Arguments&, const product::Product&), const product::Product& product) {
  Explanation explanation;
  for (const Rule<Arguments>& rule : rules) {
    if (rule.applies != nullptr && !rule.applies(arguments, product)) continue;
    const base::Status status = rule.check(arguments, product);
    if (status.ok()) continue;
    const Finding finding{rule.name, rule.says, status.message()};
    if (rule.kind == RuleKind::kLimit) {
      explanation.limits.push_back(finding);
    } else if (rule.kind == RuleKind::kRemark) {
      explanation.remarks.push_back(finding);
    } else {
      explanation.code = status.code();
      explanation.refusal = finding;
      return explanation;  // what comes after relies on it
    }
  }
  const Lowered lowered = lower(arguments, product);
  explanation.precision = PrecisionOf(lowered);
  std::shared_ptr<const conv::Plan> plan;
  if (lowered.problem.computations == 0) {
    explanation.plan = "nothing to compute\n";
  } else if (const base::Status status = conv::MakePlan(lowered.problem, &plan); !status.ok()) {
    explanation.code = status.code();
    explanation.refusal = {"plan", "the plan's workspace has a size", status.message()};
  } else {
    explanation.plan = conv::Describe(*plan);
  }
  return explanation;
}

}  // namespace

Explanation Explain(const conv::Call& call, const product::Product& product) {
  switch (call.op) {
    case conv::CallOp::kConvBackward:
      return Walk(convolution_backward::FromCall(call), convolution_backward::Rules(), &convolution_backward::Lower,
                  product);
    case conv::CallOp::kTbcBackward:
      return Walk(conv_tbc_backward::FromCall(call), conv_tbc_backward::Rules(), &conv_tbc_backward::Lower, product);
    case conv::CallOp::kConvForward:
      return Walk(convolution::FromCall(call), convolution::Rules(), &convolution::Lower, product);
    case conv::CallOp::kTbcForward:
      return Walk(conv_tbc::FromCall(call), conv_tbc::Rules(), &conv_tbc::Lower, product);
    case conv::CallOp::kDepthwiseForward:
      return Walk(conv_depthwise2d::FromCall(call), conv_depthwise2d::Rules(), &conv_depthwise2d::Lower, product);
  }
  return {};
}

}  // namespace canopy::opapi
