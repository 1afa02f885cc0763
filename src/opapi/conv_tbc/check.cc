// SPDX-License-Identifier: Apache-2.0
#include "opapi/conv_tbc/check.h"

#include "opapi/conv_tbc/support.h"
#include "opapi/cube_math.h"
#include "opapi/require.h"
#include "opapi/tbc.h"
#include "opapi/text.h"

namespace canopy::opapi::conv_tbc {
namespace {

using base::Checked;
using base::Status;
using product::Product;
using enum RuleKind;

constexpr FormatSet kFormats{ACL_FORMAT_ND, ACL_FORMAT_NCL};

Status ResultsGiven(const Arguments& a, const Product&) { return RequireResults(a.results); }

Status ArgumentsGiven(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.self, &a.weight, &a.bias, &a.output}) {
    CANOPY_RETURN_IF_ERROR(RequireGiven(*tensor));
  }
  return {};
}

Status HandlesLive(const Arguments& a, const Product&) { return RequireLive({&a.self, &a.weight, &a.bias, &a.output}); }

bool Offers(const Product& product) { return FindSupport(product) != nullptr; }

Status ProductSupported(const Arguments&, const Product& product) {
  return Offers(product) ? Status() : RefuseProduct(product, &Offers);
}

Status Types(const Arguments& a, const Product& product) {
  CANOPY_RETURN_IF_ERROR(RequireDType(a.bias, FindSupport(product)->bias_types, product));
  CANOPY_RETURN_IF_ERROR(RequireDType(a.self, FindSupport(product)->types, product));
  CANOPY_RETURN_IF_ERROR(RequireSameDType(a.weight, a.self));
  return RequireSameDType(a.output, a.self);
}

Status Ranks(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.self, &a.weight, &a.output}) CANOPY_RETURN_IF_ERROR(RequireRank(*tensor, 3));
  return RequireRank(a.bias, 1);
}

Status Extents(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.self, &a.weight, &a.bias, &a.output}) {
    CANOPY_RETURN_IF_ERROR(RequireSaneExtents(*tensor));
  }
  return {};
}

Status Formats(const Arguments& a, const Product& product) {
  for (const TensorArgument* tensor : {&a.self, &a.weight, &a.output}) {
    CANOPY_RETURN_IF_ERROR(RequireFormat(*tensor, kFormats));
  }
  return FindSupport(product)->bias_tag ? RequireFormat(a.bias, kFormats) : Status();
}

Status BiasLength(const Arguments& a, const Product&) {
  return RequireExtent(a.bias, 0, a.weight.dim(2), "weight extent 2");
}

Status KernelNotEmpty(const Arguments& a, const Product&) {
  return a.weight.dim(0) >= 1 ? Status() : Refuse("weight extent 0", "0", "1 or more");
}

Status PadNotNegative(const Arguments& a, const Product&) { return RequireAtLeast("pad", a.pad, 0); }

Status KernelFits(const Arguments& a, const Product&) {
  if (a.self.empty()) return {};
  const Checked time = TbcOutputTime(a.self, a.weight, a.pad);
  if (time.ok() && time.value() >= 1) return {};
  return Refuse("weight extent 0", Text(a.weight.dim(0)),
                Text("at most T + 2*pad, so that output has rows: ", TbcOutputTimeText(a.self, a.weight, a.pad)));
}

Status Channels(const Arguments& a, const Product&) {
  return RequireExtent(a.weight, 1, a.self.dim(2), "self's channels");
}

Status OutputShape(const Arguments& a, const Product&) {
  return RequireTbcResultShape(a.output, a.self, a.weight, a.pad);
}

Status WorkFits(const Arguments& a, const Product&) { return RequireTbcWorkFits(a.output, a.weight); }

Status CubeMathType(const Arguments& a, const Product& product) {
  return RequireCubeMathType(a.cube_math_type, kUseFp32Add, a.self.view.dtype, product);
}

Status DocumentedLimits(const Arguments& a, const Product& product) {
  return CheckLimits(kLimits, TbcLimited(a.weight, a.pad), product);
}

Status RemarkProduct(const Arguments&, const Product& product) {
  if (product.arch != product::Arch::k1001 && product.arch != product::Arch::k2002) return {};
  return Refuse("CANOPY_SOC", ProductText(product), "Atlas A2, A3 or Ascend 950");
}

Status RemarkBiasFormat(const Arguments& a, const Product&) { return RequireFormat(a.bias, {ACL_FORMAT_ND}); }

Status RemarkCubeMathType(const Arguments& a, const Product&) {
  if (a.cube_math_type == kUseFp32Add) return Refuse("cubeMathType", "4 (USE_FP32_ADD)", "0 to 3");
  if (a.cube_math_type != kUseFp16 || a.self.view.dtype != ACL_BF16) return {};
  return Refuse("cubeMathType", "2 (USE_FP16)", "0, 1 or 3 for BF16, which is computed as it is");
}

// In the order in which they are tested; the first refusal decides.
constexpr Rule<Arguments> kRules[] = {
    {"results-given", "workspaceSize and executor are not NULL", &ResultsGiven, kPresence},
    {"arguments-given", "no tensor is NULL", &ArgumentsGiven, kPresence},
    {"handles-live", "every handle is a living one of this library", &HandlesLive, kPresence},

    {"product-supported", "the product offers the operator", &ProductSupported},
    {"types", "tensors have a type of the product, self, weight and output one and the same", &Types},
    {"ranks", "tensors have rank 3, bias rank 1", &Ranks},
    {"extents", "extents are not negative and sizes fit 64 bits", &Extents},
    {"formats", "tensors are tagged ND or NCL", &Formats},
    {"bias-length", "bias is as long as weight's third extent", &BiasLength},
    {"kernel-not-empty", "weight's first extent is 1 or more", &KernelNotEmpty},
    {"pad-not-negative", "pad is 0 or more", &PadNotNegative},
    {"kernel-fits", "the kernel is no longer than self with its padding", &KernelFits},
    {"channels", "weight's second extent is self's channels", &Channels},
    {"output-shape", "output is [T + 2*pad + 1 - K, self's batch size, weight's third extent]", &OutputShape},
    {"work-fits", "the number of multiply-adds fits 64 bits", &WorkFits},
    {"cube-math-type", "cubeMathType is 0 to 4 and one that the product computes self's type with", &CubeMathType},

    {"documented-limits", "sizes are within the device's documented limits", &DocumentedLimits, kLimit},
    {"remark-product", "the product is one that the documents list", &RemarkProduct, kRemark},
    {"remark-bias-format", "bias is tagged ND", &RemarkBiasFormat, kRemark},
    {"remark-cube-math-type", "cubeMathType is 0 to 3, and not 2 for BF16", &RemarkCubeMathType, kRemark},
};

}  // namespace

std::span<const Rule<Arguments>> Rules() { return kRules; }

}  // namespace canopy::opapi::conv_tbc
