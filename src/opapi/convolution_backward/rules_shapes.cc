// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "opapi/convolution_backward/rules.h"
#include "opapi/convolution_backward/support.h"
#include "opapi/cube_math.h"
#include "opapi/require.h"
#include "opapi/text.h"
#include "opapi/window.h"

namespace canopy::opapi::convolution_backward {

using base::Checked;
using base::Status;
using product::Product;

bool OnEmptyPath(const Arguments& a, const Product& product) {
  return FindSupport(product)->empty_path && (a.input.empty() || a.weight.empty());
}

bool OnFullPath(const Arguments& a, const Product& product) { return !OnEmptyPath(a, product); }

Status RanksEqual(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.grad_output, &a.weight}) {
    if (tensor->rank() == a.input.rank()) continue;
    return Refuse(Text(tensor->name, " rank"), Text(tensor->rank()), Text("that of input, ", a.input.rank()));
  }
  return {};
}

Status AttributeLengths(const Arguments& a, const Product&) {
  const int64_t rank = a.spatial_rank();
  const int64_t also = rank == 2 ? 4 : rank;
  const std::string because = Text("for ", rank, " spatial axes");
  CANOPY_RETURN_IF_ERROR(RequireLength(a.stride, {rank}, because));
  CANOPY_RETURN_IF_ERROR(RequireLength(a.dilation, {rank}, because));
  CANOPY_RETURN_IF_ERROR(RequireLength(a.padding, {rank, also}, because));
  return RequireLength(a.output_padding, {rank, also}, because);
}

Status NotEmpty(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireNotEmpty(a.grad_output));
  return RequireNotEmpty(a.weight);
}

Status GradInputShape(const Arguments& a, const Product&) { return RequireSameShape(a.grad_input, a.input); }
Status GradWeightShape(const Arguments& a, const Product&) { return RequireSameShape(a.grad_weight, a.weight); }

Status GradBiasShape(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireRank(a.grad_bias, 1));
  return RequireExtent(a.grad_bias, 0, a.grad_output.dim(1), "gradOutput's channels");
}

Status WeightChannels(const Arguments& a, const Product&) {
  return RequireExtent(a.weight, 0, a.windows().dim(1), Text(a.windows().name, "'s channels"));
}

Status GroupChannels(const Arguments& a, const Product&) {
  const int64_t channels = a.map().dim(1);
  const Checked covered = Checked(a.weight.dim(1)) * a.groups;
  if (covered.ok() && covered.value() == channels) return {};
  return Refuse("weight extent 1", Text(a.weight.dim(1)),
                Text(a.map().name, "'s channels / groups = ", channels, " / ", a.groups));
}

Status GroupsDivide(const Arguments& a, const Product&) {
  if (a.weight.dim(0) % a.groups == 0) return {};
  return Refuse("groups", Text(a.groups), Text("a divisor of weight extent 0, ", a.weight.dim(0)));
}

Status BatchEqual(const Arguments& a, const Product&) {
  return RequireExtent(a.grad_output, 0, a.input.dim(0), "input's batch size");
}

Status SizesRelate(const Arguments& a, const Product&) {
  for (int64_t axis = 0; axis < a.spatial_rank(); ++axis) {
    const Window window = WindowOf(a.weight, a.stride, a.padding, a.dilation, axis);
    CANOPY_RETURN_IF_ERROR(RequireWindowCount(a.windows(), a.map(), axis, window));
  }
  return {};
}

Status WorkFits(const Arguments& a, const Product&) {
  // Sizes of 0 count as 1, so that every product of some of these sizes fits, too.
  Checked work = Checked(2) * std::max<int64_t>(a.weight.dim(1), 1);
  for (int64_t axis = 0; axis < a.input.rank(); ++axis) work = work * std::max<int64_t>(a.windows().dim(axis), 1);
  for (int64_t axis = 2; axis < a.input.rank(); ++axis) work = work * std::max<int64_t>(a.weight.dim(axis), 1);
  if (work.ok()) return {};
  return Refuse("weight shape", ListText(a.weight.view.dims, a.weight.rank()),
                "one that needs fewer than 2^62 multiply-adds in all");
}

Status ThreeD(const Arguments& a, const Product& product) {
  if (a.spatial_rank() < 3 || FindSupport(product)->three_d) return {};
  return Refuse("input rank", Text(a.input.rank()), Text("3 or 4 on ", ProductText(product)));
}

Status Grouped3dWeight(const Arguments& a, const Product& product) {
  if (FindSupport(product)->wide_3d_weight || a.spatial_rank() < 3 || a.groups == 1 || !a.output_mask[1]) return {};
  const aclDataType promoted = a.promoted();
  const bool narrow = a.cube_math_type == kUseFp16 || promoted == ACL_FLOAT16 || promoted == ACL_BF16;
  if (a.grad_weight.view.dtype != ACL_FLOAT || !narrow) return {};
  return Refuse("gradWeight type", "FLOAT",
                Text("a 16-bit type where a grouped 3D convolution is computed in 16 bits on ", ProductText(product)));
}

}  // namespace canopy::opapi::convolution_backward
