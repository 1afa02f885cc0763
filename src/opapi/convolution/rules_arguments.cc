// SPDX-License-Identifier: Apache-2.0
#include "opapi/convolution/rules.h"
#include "opapi/convolution/support.h"
#include "opapi/require.h"
#include "opapi/text.h"

namespace canopy::opapi::convolution {

using base::Checked;
using base::Status;
using product::Product;

Status ResultsGiven(const Arguments& a, const Product&) { return RequireResults(a.results); }

Status ArgumentsGiven(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.input));
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.weight));
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.stride));
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.padding));
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.dilation));
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.output));
  return a.transposed ? RequireGiven(a.output_padding) : Status();
}

Status HandlesLive(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireLive({&a.input, &a.weight, &a.bias, &a.output}, {&a.stride, &a.padding, &a.dilation}));
  return a.transposed ? RequireLive({}, {&a.output_padding}) : Status();
}

Status BiasType(const Arguments& a, const Product& product) { return RequireDType(a.bias, kFloatsAndBf16, product); }

Status TensorTypes(const Arguments& a, const Product& product) {
  const Support& support = SupportOf(product);
  for (const TensorArgument* tensor : {&a.input, &a.weight, &a.output}) {
    CANOPY_RETURN_IF_ERROR(
        RequireDType(*tensor, a.transposed ? support.transposed_types : support.plain_types, product));
  }
  return {};
}

Status Ranks(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.input, &a.weight, &a.output}) {
    CANOPY_RETURN_IF_ERROR(RequireRankBetween(*tensor, 3, 5));
    if (tensor->rank() == a.input.rank()) continue;
    return Refuse(Text(tensor->name, " rank"), Text(tensor->rank()), Text("that of input, ", a.input.rank()));
  }
  return {};
}

Status Extents(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.input, &a.weight, &a.bias, &a.output}) {
    CANOPY_RETURN_IF_ERROR(RequireSaneExtents(*tensor));
  }
  return {};
}

Status BiasShape(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireRank(a.bias, 1));
  if (!a.transposed) return RequireExtent(a.bias, 0, a.weight.dim(0), "weight extent 0");
  const Checked channels = Checked(a.weight.dim(1)) * a.groups;
  if (!channels.ok()) return Refuse("groups", Text(a.groups), "one that times weight extent 1 fits 64 bits");
  return RequireExtent(a.bias, 0, channels.value(), "weight extent 1 * groups");
}

Status AttributeLengths(const Arguments& a, const Product&) {
  const int64_t rank = a.spatial_rank();
  const std::string because = Text("for ", rank, " spatial axes", a.transposed ? ", transposed" : "");
  CANOPY_RETURN_IF_ERROR(RequireLength(a.stride, {rank}, because));
  CANOPY_RETURN_IF_ERROR(RequireLength(a.dilation, {rank}, because));
  const bool two_sided = rank == 2 || (rank == 1 && !a.transposed);
  CANOPY_RETURN_IF_ERROR(RequireLength(a.padding, {rank, two_sided ? 2 * rank : rank}, because));
  return a.transposed ? RequireLength(a.output_padding, {rank}, because) : Status();
}

Status InputOutputFormats(const Arguments& a, const Product&) {
  if (a.output.view.format == a.input.view.format) return {};
  return Refuse("output format", Name(a.output.view.format), Text("that of input, ", Name(a.input.view.format)));
}

Status BiasFormat(const Arguments& a, const Product&) {
  return RequireFormat(a.bias, {ACL_FORMAT_ND, ACL_FORMAT_NCL, ACL_FORMAT_NCHW, ACL_FORMAT_NCDHW});
}

Status Formats(const Arguments& a, const Product&) {
  static constexpr FormatSet kOfRank[] = {{ACL_FORMAT_NCL}, {ACL_FORMAT_NCHW}, {ACL_FORMAT_NCDHW}};
  for (const TensorArgument* tensor : {&a.input, &a.weight, &a.output}) {
    CANOPY_RETURN_IF_ERROR(RequireFormat(*tensor, kOfRank[a.input.rank() - 3]));
  }
  return {};
}

Status StridePositive(const Arguments& a, const Product&) { return RequireAtLeast(a.stride, 1); }
Status DilationPositive(const Arguments& a, const Product&) { return RequireAtLeast(a.dilation, 1); }
Status PaddingNotNegative(const Arguments& a, const Product&) { return RequireAtLeast(a.padding, 0); }
Status GroupsPositive(const Arguments& a, const Product&) { return RequireAtLeast("groups", a.groups, 1); }

}  // namespace canopy::opapi::convolution
