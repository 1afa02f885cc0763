// SPDX-License-Identifier: Apache-2.0
#include "opapi/conv_tbc_backward/check.h"

#include "opapi/conv_tbc_backward/support.h"
#include "opapi/cube_math.h"
#include "opapi/require.h"
#include "opapi/tbc.h"
#include "opapi/text.h"

namespace canopy::opapi::conv_tbc_backward {
namespace {

using base::Checked;
using base::Status;
using product::Product;
using enum RuleKind;

constexpr FormatSet kFormats{ACL_FORMAT_ND, ACL_FORMAT_NCL};

Status ResultsGiven(const Arguments& a, const Product&) { return RequireResults(a.results); }

Status ArgumentsGiven(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor :
       {&a.self, &a.input, &a.weight, &a.bias, &a.grad_input, &a.grad_weight, &a.grad_bias}) {
    CANOPY_RETURN_IF_ERROR(RequireGiven(*tensor));
  }
  return {};
}

Status HandlesLive(const Arguments& a, const Product&) {
  return RequireLive({&a.self, &a.input, &a.weight, &a.bias, &a.grad_input, &a.grad_weight, &a.grad_bias});
}

bool Offers(const Product& product) { return FindSupport(product) != nullptr; }

Status ProductSupported(const Arguments&, const Product& product) {
  return Offers(product) ? Status() : RefuseProduct(product, &Offers);
}

Status Types(const Arguments& a, const Product& product) {
  const DTypeSet types = FindSupport(product)->types;
  for (const TensorArgument* tensor : {&a.self, &a.input, &a.weight}) {
    CANOPY_RETURN_IF_ERROR(RequireDType(*tensor, types, product));
  }
  CANOPY_RETURN_IF_ERROR(RequireDType(a.bias, kFloatsAndBf16, product));
  for (const TensorArgument* tensor : {&a.grad_input, &a.grad_weight, &a.grad_bias}) {
    CANOPY_RETURN_IF_ERROR(RequireDType(*tensor, types, product));
  }
  return {};
}

Status Formats(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor :
       {&a.self, &a.input, &a.weight, &a.bias, &a.grad_input, &a.grad_weight, &a.grad_bias}) {
    CANOPY_RETURN_IF_ERROR(RequireFormat(*tensor, kFormats));
  }
  return {};
}

Status Extents(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor :
       {&a.self, &a.input, &a.weight, &a.bias, &a.grad_input, &a.grad_weight, &a.grad_bias}) {
    CANOPY_RETURN_IF_ERROR(RequireSaneExtents(*tensor));
  }
  return {};
}

Status SelfNotEmpty(const Arguments& a, const Product&) { return RequireNotEmpty(a.self); }

Status Ranks(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.self, &a.input, &a.weight}) CANOPY_RETURN_IF_ERROR(RequireRank(*tensor, 3));
  for (const TensorArgument* tensor : {&a.bias, &a.grad_bias}) CANOPY_RETURN_IF_ERROR(RequireRank(*tensor, 1));
  for (const TensorArgument* tensor : {&a.grad_input, &a.grad_weight}) CANOPY_RETURN_IF_ERROR(RequireRank(*tensor, 3));
  return {};
}

Status InputChannels(const Arguments& a, const Product&) {
  return RequireExtent(a.input, 2, a.weight.dim(1), "weight extent 1");
}
Status BiasLength(const Arguments& a, const Product&) {
  return RequireExtent(a.bias, 0, a.weight.dim(2), "weight extent 2");
}
Status PadNotNegative(const Arguments& a, const Product&) { return RequireAtLeast("pad", a.pad, 0); }

Status KernelFits(const Arguments& a, const Product&) {
  const Checked time = TbcOutputTime(a.input, a.weight, a.pad);
  if (time.ok() && time.value() >= 0) return {};
  return Refuse("pad", Text(a.pad),
                Text("one that gives self 0 or more rows: ", TbcOutputTimeText(a.input, a.weight, a.pad)));
}

Status SelfShape(const Arguments& a, const Product&) { return RequireTbcResultShape(a.self, a.input, a.weight, a.pad); }
Status GradInputShape(const Arguments& a, const Product&) { return RequireSameShape(a.grad_input, a.input); }
Status GradWeightShape(const Arguments& a, const Product&) { return RequireSameShape(a.grad_weight, a.weight); }
Status GradBiasShape(const Arguments& a, const Product&) { return RequireSameShape(a.grad_bias, a.bias); }
Status WorkFits(const Arguments& a, const Product&) { return RequireTbcWorkFits(a.self, a.weight); }

Status CubeMathType(const Arguments& a, const Product& product) {
  return RequireCubeMathType(a.cube_math_type, kUseHf32, a.promoted(), product);
}

Status GradTypesMatch(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireSameDType(a.grad_input, a.input));
  return RequireSameDType(a.grad_weight, a.weight);
}

Status GradBiasTypeMatches(const Arguments& a, const Product& product) {
  return FindSupport(product)->bias_type ? RequireSameDType(a.grad_bias, a.bias) : Status();
}

Status DocumentedLimits(const Arguments& a, const Product& product) {
  return CheckLimits(kLimits, TbcLimited(a.weight, a.pad), product);
}

Status RemarkProduct(const Arguments&, const Product& product) {
  if (product.arch != product::Arch::k2002) return {};
  return Refuse("CANOPY_SOC", ProductText(product), "Atlas A2, A3, Ascend 950 or Atlas training");
}

Status RemarkTypes(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.input, &a.weight, &a.bias, &a.grad_bias}) {
    CANOPY_RETURN_IF_ERROR(RequireSameDType(*tensor, a.self));
  }
  return {};
}

Status RemarkBiasFormat(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireFormat(a.bias, {ACL_FORMAT_ND}));
  return RequireFormat(a.grad_bias, {ACL_FORMAT_ND});
}

Status RemarkCubeMathType(const Arguments& a, const Product&) {
  if (a.cube_math_type != kUseFp16 || a.promoted() != ACL_BF16) return {};
  return Refuse("cubeMathType", "2 (USE_FP16)", "0, 1 or 3 for BF16, which is computed as it is");
}

// In the order in which they are tested; the first refusal decides.
constexpr Rule<Arguments> kRules[] = {
    {"results-given", "workspaceSize and executor are not NULL", &ResultsGiven, kPresence},
    {"arguments-given", "no tensor is NULL", &ArgumentsGiven, kPresence},
    {"handles-live", "every handle is a living one of this library", &HandlesLive, kPresence},

    {"product-supported", "the product offers the operator", &ProductSupported},
    {"types", "tensors have types of the product", &Types},
    {"formats", "tensors are tagged ND or NCL", &Formats},
    {"extents", "extents are not negative and sizes fit 64 bits", &Extents},
    {"self-not-empty", "self has elements", &SelfNotEmpty},
    {"ranks", "tensors have rank 3, bias and gradBias rank 1", &Ranks},
    {"input-channels", "input's channels are weight's second extent", &InputChannels},
    {"bias-length", "bias is as long as weight's third extent", &BiasLength},
    {"pad-not-negative", "pad is 0 or more", &PadNotNegative},
    {"kernel-fits", "the kernel gives self 0 or more rows", &KernelFits},
    {"self-shape", "self is [T + 2*pad + 1 - K, input's batch size, weight's third extent]", &SelfShape},
    {"grad-input-shape", "gradInput has input's shape", &GradInputShape},
    {"grad-weight-shape", "gradWeight has weight's shape", &GradWeightShape},
    {"grad-bias-shape", "gradBias has bias' shape", &GradBiasShape},
    {"work-fits", "the number of multiply-adds fits 64 bits", &WorkFits},
    {"cube-math-type", "cubeMathType is 0 to 3 and one that the product computes the inputs' type with", &CubeMathType},
    {"grad-types-match", "gradInput and gradWeight have the types of input and weight", &GradTypesMatch},
    {"grad-bias-type-matches", "gradBias has bias' type", &GradBiasTypeMatches},

    {"documented-limits", "sizes are within the device's documented limits", &DocumentedLimits, kLimit},
    {"remark-product", "the product is one that the documents list", &RemarkProduct, kRemark},
    {"remark-types", "all tensors have one type", &RemarkTypes, kRemark},
    {"remark-bias-format", "bias and gradBias are tagged ND", &RemarkBiasFormat, kRemark},
    {"remark-cube-math-type", "USE_FP16 is not for BF16", &RemarkCubeMathType, kRemark},
};

}  // namespace

std::span<const Rule<Arguments>> Rules() { return kRules; }

}  // namespace canopy::opapi::conv_tbc_backward
