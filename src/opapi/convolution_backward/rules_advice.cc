// SPDX-License-Identifier: Apache-2.0
#include "opapi/convolution_backward/rules.h"
#include "opapi/convolution_backward/support.h"
#include "opapi/cube_math.h"
#include "opapi/limits.h"
#include "opapi/require.h"
#include "opapi/text.h"

namespace canopy::opapi::convolution_backward {

using base::Status;
using product::Product;

Status DocumentedLimits(const Arguments& a, const Product& product) {
  Limited call{.transposed = a.transposed, .spatial_rank = a.spatial_rank(), .groups = a.groups};
  for (int64_t axis = 0; axis < call.spatial_rank; ++axis) {
    call.windows[axis] = WindowOf(a.weight, a.stride, a.padding, a.dilation, axis);
  }
  return CheckLimits(kLimits, call, product);
}

Status RemarkFormat(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.grad_output, &a.input, &a.weight, &a.grad_input, &a.grad_weight}) {
    if (tensor->rank() == 4) CANOPY_RETURN_IF_ERROR(RequireFormat(*tensor, {ACL_FORMAT_NCHW}));
  }
  return {};
}

Status RemarkBiasSizes(const Arguments& a, const Product&) { return RequireGiven(a.bias_sizes); }

Status RemarkTypes(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireSameDType(a.grad_input, a.input));
  if (!k8Bit.Has(a.weight.view.dtype)) CANOPY_RETURN_IF_ERROR(RequireSameDType(a.grad_weight, a.weight));
  return RequireSameDType(a.grad_bias, a.grad_output);
}

Status RemarkCubeMathType(const Arguments& a, const Product&) {
  if (a.cube_math_type != kUseFp16 || a.promoted() != ACL_BF16) return {};
  return Refuse("cubeMathType", "2 (USE_FP16)", "0, 1 or 3 for BF16, which is computed as it is");
}

Status RemarkOutputPadding(const Arguments& a, const Product&) {
  if (!a.transposed) return {};
  for (int64_t i = 0; i < a.output_padding.visible() && i < a.stride.visible(); ++i) {
    if (a.output_padding[i] < a.stride[i]) continue;
    return Refuse(Text("outputPadding[", i, "]"), Text(a.output_padding[i]),
                  Text("below stride[", i, "], ", a.stride[i]));
  }
  return {};
}

Status RemarkEightBit(const Arguments& a, const Product&) {
  if (a.weight.view.dtype != ACL_FLOAT8_E4M3FN) return {};
  return Refuse("weight type", "FLOAT8_E4M3FN", Names(kFloatsAndHif8));
}

}  // namespace canopy::opapi::convolution_backward
