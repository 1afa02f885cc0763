// SPDX-License-Identifier: Apache-2.0
#include "opapi/convolution/rules.h"
#include "opapi/convolution/support.h"
#include "opapi/cube_math.h"
#include "opapi/limits.h"
#include "opapi/require.h"
#include "opapi/text.h"

namespace canopy::opapi::convolution {

using base::Status;
using product::Product;

Status CubeMathType(const Arguments& a, const Product& product) {
  return RequireCubeMathType(a.cube_math_type, kUseFp32Add, a.promoted(), product);
}

Status Plain2d(const Arguments& a, const Product& product) {
  if (!SupportOf(product).only_plain_2d) return {};
  if (a.transposed) return Refuse("transposed", "true", Text("false on ", ProductText(product)));
  if (a.spatial_rank() != 2) return Refuse("input rank", Text(a.input.rank()), Text("4 on ", ProductText(product)));
  return {};
}

namespace {

bool Is8Bit(const TensorArgument& tensor) { return k8Bit.Has(tensor.view.dtype); }

}  // namespace

Status EightBitBias(const Arguments& a, const Product&) {
  if (!a.bias.given() || a.output.empty() || !k8Bit.Has(a.promoted())) return {};
  return Refuse("bias", "a tensor", Text("NULL for ", Name(a.promoted()), " where transposed is true"));
}

Status EightBitOperands(const Arguments& a, const Product&) {
  if (!Is8Bit(a.input) && !Is8Bit(a.weight)) return {};
  return RequireSameDType(a.weight, a.input);
}

Status EightBitOutput(const Arguments& a, const Product&) {
  if (!Is8Bit(a.input) && !Is8Bit(a.output)) return {};
  return RequireSameDType(a.output, a.input);
}

Status DocumentedLimits(const Arguments& a, const Product& product) {
  Limited call{.transposed = a.transposed,
               .spatial_rank = a.spatial_rank(),
               .groups = a.groups,
               .map = &a.input,
               .tensors = {&a.input, &a.weight, &a.output}};
  for (int64_t axis = 0; axis < call.spatial_rank; ++axis) call.windows[axis] = WindowOn(a, axis);
  return CheckLimits(kLimits, call, product);
}

Status RemarkProduct(const Arguments&, const Product& product) {
  if (product.arch != product::Arch::k1001) return {};
  return Refuse("CANOPY_SOC", ProductText(product), "Atlas A2, A3, Ascend 950, Atlas inference or Atlas 200I/500 A2");
}

Status RemarkTypes(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.bias, &a.output}) {
    if (!tensor->given() || tensor->view.dtype == a.promoted()) continue;
    return Refuse(Text(tensor->name, " type"), Name(tensor->view.dtype),
                  Text("the inputs' promoted type, ", Name(a.promoted())));
  }
  return {};
}

Status RemarkBiasFormat(const Arguments& a, const Product&) { return RequireFormat(a.bias, {ACL_FORMAT_ND}); }

Status RemarkCubeMathType(const Arguments& a, const Product&) {
  if (a.cube_math_type == kUseFp32Add) return Refuse("cubeMathType", "4 (USE_FP32_ADD)", "0 to 3");
  if (a.cube_math_type != kUseFp16 || a.promoted() != ACL_BF16) return {};
  return Refuse("cubeMathType", "2 (USE_FP16)", "0, 1 or 3 for BF16, which is computed as it is");
}

}  // namespace canopy::opapi::convolution
