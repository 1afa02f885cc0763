// SPDX-License-Identifier: Apache-2.0
#include "opapi/convolution_backward/lower.h"

#include "opapi/convolution_backward/rules.h"
#include "opapi/cube_math.h"

namespace canopy::opapi::convolution_backward {
namespace {

conv::Geometry MakeGeometry(const Arguments& a, const AxisOrder& axes) {
  conv::Geometry geometry;
  geometry.batch = a.input.dim(0);
  geometry.groups = a.groups;
  geometry.input_channels = a.map().dim(1);
  geometry.output_channels = a.windows().dim(1);
  geometry.input_size = SpatialExtents(a.map(), axes);
  geometry.output_size = SpatialExtents(a.windows(), axes);
  geometry.kernel = SpatialExtents(a.weight, axes);
  for (int64_t axis = 0; axis < a.spatial_rank(); ++axis) {
    SetWindow(&geometry, a.spatial_rank(), axis, WindowOf(a.weight, a.stride, a.padding, a.dilation, axis));
  }
  return geometry;
}

// The geometry is that of the plain convolution that maps map() to windows(): transposed calls exchange the roles of
// input and gradOutput, and their gradInput is that convolution itself.
void BindComputations(const Arguments& a, const AxisOrder& axes, Lowered* lowered) {
  const bool data = a.output_mask[0], weights = a.output_mask[1], bias = a.output_mask[2];
  const Role grad_output = a.transposed ? Role::kInput : Role::kOutput;
  const Role input = a.transposed ? Role::kOutput : Role::kInput;
  uint8_t computations = 0;
  if (data) computations |= a.transposed ? conv::kForward : conv::kBackwardData;
  if (weights) computations |= conv::kBackwardWeights;
  if (bias) computations |= a.transposed ? conv::kBiasFromInput : conv::kBiasFromOutput;
  lowered->problem.computations = computations;
  if (computations != 0) lowered->Bind(grad_output, a.grad_output, axes);
  if (data) lowered->Bind(Role::kWeight, a.weight, axes);
  if (weights) lowered->Bind(input, a.input, axes);
  if (data) lowered->Bind(a.transposed ? Role::kOutputResult : Role::kInputResult, a.grad_input, axes);
  if (weights) lowered->Bind(Role::kWeightResult, a.grad_weight, axes);
  if (bias) lowered->Bind(Role::kBiasResult, a.grad_bias, kBiasAxes);
}

}  // namespace

Lowered Lower(const Arguments& a, const product::Product& product) {
  Lowered lowered;
  if (AnyEmpty(a, product)) {
    if (a.output_mask[1]) lowered.BindZeros(a.grad_weight);
    if (a.output_mask[2]) lowered.BindZeros(a.grad_bias);
    return lowered;
  }
  const AxisOrder axes = ChannelsFirst(a.spatial_rank());
  lowered.problem.geometry = MakeGeometry(a, axes);
  lowered.problem.rule = {RoundingOf(a.cube_math_type, a.promoted(), product), !product.inf_nan_mode};
  BindComputations(a, axes, &lowered);
  return lowered;
}

}  // namespace canopy::opapi::convolution_backward
