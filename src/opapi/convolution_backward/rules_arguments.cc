// SPDX-License-Identifier: Apache-2.0
#include "opapi/convolution_backward/rules.h"
#include "opapi/convolution_backward/support.h"
#include "opapi/cube_math.h"
#include "opapi/require.h"
#include "opapi/text.h"

namespace canopy::opapi::convolution_backward {

using base::Status;
using product::Product;

namespace {

DTypeSet TypesOf(const Arguments& a, const Product& product) {
  const Support& support = *FindSupport(product);
  return a.transposed ? support.transposed_types : support.plain_types;
}

FormatSet FormatsOfRank(int64_t rank) {
  switch (rank) {
    case 3:
      return {ACL_FORMAT_ND, ACL_FORMAT_NCL};
    case 4:
      return {ACL_FORMAT_NCHW, ACL_FORMAT_NCDHW};  // a published example tags rank 4 NCDHW
    default:
      return {ACL_FORMAT_NCDHW};
  }
}

bool Offers(const Product& product) { return FindSupport(product) != nullptr; }

bool Is8Bit(const TensorArgument& tensor) { return tensor.given() && k8Bit.Has(tensor.view.dtype); }
bool Is(const TensorArgument& tensor, aclDataType dtype) { return tensor.given() && tensor.view.dtype == dtype; }

}  // namespace

Status ResultsGiven(const Arguments& a, const Product&) { return RequireResults(a.results); }

Status ArgumentsGiven(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.grad_output, &a.input, &a.weight}) {
    CANOPY_RETURN_IF_ERROR(RequireGiven(*tensor));
  }
  for (const IntArrayArgument* array : {&a.stride, &a.padding, &a.dilation, &a.output_padding}) {
    CANOPY_RETURN_IF_ERROR(RequireGiven(*array));
  }
  return RequireGiven(a.output_mask);
}

Status HandlesLive(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireLive({&a.grad_output, &a.input, &a.weight, &a.grad_input, &a.grad_weight, &a.grad_bias},
                                     {&a.bias_sizes, &a.stride, &a.padding, &a.dilation, &a.output_padding}));
  return RequireLive(a.output_mask);
}

Status MaskLength(const Arguments& a, const Product&) {
  if (a.output_mask.view.size == 3) return {};
  return Refuse("outputMask length", Text(a.output_mask.view.size), "3", kNullPointer);
}

Status SelectedOutputsGiven(const Arguments& a, const Product&) {
  if (a.output_mask[0]) CANOPY_RETURN_IF_ERROR(RequireGiven(a.grad_input));
  if (a.output_mask[1]) CANOPY_RETURN_IF_ERROR(RequireGiven(a.grad_weight));
  if (a.output_mask[2]) CANOPY_RETURN_IF_ERROR(RequireGiven(a.grad_bias));
  return {};
}

Status ProductSupported(const Arguments&, const Product& product) {
  return Offers(product) ? Status() : RefuseProduct(product, &Offers);
}

Status InputTypes(const Arguments& a, const Product& product) {
  for (const TensorArgument* tensor : {&a.grad_output, &a.input, &a.weight}) {
    CANOPY_RETURN_IF_ERROR(RequireDType(*tensor, TypesOf(a, product), product));
  }
  return {};
}

Status OutputTypes(const Arguments& a, const Product& product) {
  for (const TensorArgument* tensor : {&a.grad_input, &a.grad_weight, &a.grad_bias}) {
    CANOPY_RETURN_IF_ERROR(RequireDType(*tensor, TypesOf(a, product), product));
  }
  return {};
}

Status OutputTypesMatch(const Arguments& a, const Product& product) {
  if (!FindSupport(product)->same_types) return {};
  CANOPY_RETURN_IF_ERROR(RequireSameDType(a.grad_input, a.input));
  if (!Is8Bit(a.weight)) CANOPY_RETURN_IF_ERROR(RequireSameDType(a.grad_weight, a.weight));
  return RequireSameDType(a.grad_bias, a.grad_output);
}

Status EightBitNeedsGradInput(const Arguments& a, const Product&) {
  if (a.output_mask[0]) return {};
  for (const TensorArgument* tensor : {&a.grad_output, &a.input, &a.weight, &a.grad_input, &a.grad_weight}) {
    if (Is8Bit(*tensor)) {
      return Refuse("outputMask[0]", "false", Text("true where ", tensor->name, " is ", Name(tensor->view.dtype)));
    }
  }
  return {};
}

Status EightBitAllAlike(const Arguments& a, const Product&) {
  const TensorArgument* tensors[] = {&a.grad_output, &a.input, &a.weight, &a.grad_input, &a.grad_bias};
  for (aclDataType dtype : {ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN}) {
    const TensorArgument* one = nullptr;
    for (const TensorArgument* tensor : tensors) {
      if (Is(*tensor, dtype)) one = tensor;
    }
    for (const TensorArgument* tensor : tensors) {
      if (one != nullptr) CANOPY_RETURN_IF_ERROR(RequireSameDType(*tensor, *one));
    }
  }
  return {};
}

Status EightBitGradWeight(const Arguments& a, const Product& product) {
  if (!a.output_mask[1] || !Is8Bit(a.weight)) return {};
  if (Is(a.weight, ACL_FLOAT8_E4M3FN)) return Refuse("outputMask[1]", "true", "false for FLOAT8_E4M3FN");
  CANOPY_RETURN_IF_ERROR(RequireDType(a.grad_weight, {ACL_FLOAT}, product));
  if (a.groups != 1) return Refuse("groups", Text(a.groups), "1 where gradWeight is computed from HIFLOAT8");
  for (int64_t i = 0; i < a.output_padding.visible(); ++i) {
    if (a.output_padding[i] == 0) continue;
    return Refuse(Text("outputPadding[", i, "]"), Text(a.output_padding[i]),
                  "0 where gradWeight is computed from HIFLOAT8");
  }
  return {};
}

Status EightBitGradBias(const Arguments& a, const Product&) {
  if (!a.output_mask[2] || !Is8Bit(a.grad_bias)) return {};
  // The device passes its checks for HIFLOAT8 and then has no kernel.
  const int code = Is(a.grad_bias, ACL_HIFLOAT8) ? kUnsupportedSize : kInvalid;
  return Refuse("gradBias type", Name(a.grad_bias.view.dtype), Names(kFloatsAndBf16), code);
}

Status RanksAndFormats(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.grad_output, &a.input, &a.weight, &a.grad_input, &a.grad_weight}) {
    CANOPY_RETURN_IF_ERROR(RequireRankBetween(*tensor, 3, 5));
    CANOPY_RETURN_IF_ERROR(RequireFormat(*tensor, FormatsOfRank(tensor->rank())));
  }
  return {};
}

Status Extents(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor :
       {&a.grad_output, &a.input, &a.weight, &a.grad_input, &a.grad_weight, &a.grad_bias}) {
    CANOPY_RETURN_IF_ERROR(RequireSaneExtents(*tensor));
  }
  return {};
}

Status GradBiasFormat(const Arguments& a, const Product& product) {
  if (a.transposed || !FindSupport(product)->bias_nd) return {};
  return RequireFormat(a.grad_bias, {ACL_FORMAT_ND});
}

Status StridePositive(const Arguments& a, const Product&) { return RequireAtLeast(a.stride, 1); }
Status PaddingNotNegative(const Arguments& a, const Product&) { return RequireAtLeast(a.padding, 0); }
Status DilationPositive(const Arguments& a, const Product&) { return RequireAtLeast(a.dilation, 1); }

Status OutputPaddingRange(const Arguments& a, const Product&) {
  if (a.transposed) return RequireAtLeast(a.output_padding, 0);
  for (int64_t i = 0; i < a.output_padding.visible(); ++i) {
    if (a.output_padding[i] == 0) continue;
    return Refuse(Text("outputPadding[", i, "]"), Text(a.output_padding[i]), "0 where transposed is false");
  }
  return {};
}

Status OutputPaddingBelowStride(const Arguments& a, const Product&) {
  if (!a.transposed || a.input.rank() != 5) return {};
  for (int64_t i = 0; i < a.output_padding.visible() && i < a.stride.visible(); ++i) {
    if (a.output_padding[i] < a.stride[i]) continue;
    return Refuse(Text("outputPadding[", i, "]"), Text(a.output_padding[i]),
                  Text("below stride[", i, "], ", a.stride[i]));
  }
  return {};
}

Status GroupsPositive(const Arguments& a, const Product&) { return RequireAtLeast("groups", a.groups, 1); }

Status CubeMathType(const Arguments& a, const Product& product) {
  return RequireCubeMathType(a.cube_math_type, kUseHf32, a.promoted(), product);
}

}  // namespace canopy::opapi::convolution_backward
