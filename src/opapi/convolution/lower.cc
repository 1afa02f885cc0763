// SPDX-License-Identifier: Apache-2.0
#include "opapi/convolution/lower.h"

#include "opapi/cube_math.h"

namespace canopy::opapi::convolution {
namespace {

// The geometry is that of the plain convolution between `map`, over which kernels slide, and `windows`.
conv::Geometry MakeGeometry(const Arguments& a, const AxisOrder& axes) {
  const TensorArgument& map = a.transposed ? a.output : a.input;
  const TensorArgument& windows = a.transposed ? a.input : a.output;
  conv::Geometry geometry;
  geometry.batch = a.input.dim(0);
  geometry.groups = a.groups;
  geometry.input_channels = map.dim(1);
  geometry.output_channels = windows.dim(1);
  geometry.input_size = SpatialExtents(map, axes);
  geometry.output_size = SpatialExtents(windows, axes);
  geometry.kernel = SpatialExtents(a.weight, axes);
  for (int64_t axis = 0; axis < a.spatial_rank(); ++axis) {
    SetWindow(&geometry, a.spatial_rank(), axis, WindowOn(a, axis));
  }
  return geometry;
}

}  // namespace

Lowered Lower(const Arguments& a, const product::Product& product) {
  Lowered lowered;
  if (a.output.empty()) return lowered;
  const AxisOrder axes = ChannelsFirst(a.spatial_rank());
  lowered.problem.geometry = MakeGeometry(a, axes);
  lowered.problem.rule = {RoundingOf(a.cube_math_type, a.promoted(), product), !product.inf_nan_mode};
  lowered.problem.computations = a.transposed ? conv::kBackwardData : conv::kForward;
  lowered.problem.has_bias = a.bias.given();
  lowered.Bind(a.transposed ? Role::kOutput : Role::kInput, a.input, axes);
  lowered.Bind(Role::kWeight, a.weight, axes);
  if (a.bias.given()) lowered.Bind(Role::kBias, a.bias, kBiasAxes);
  lowered.Bind(a.transposed ? Role::kInputResult : Role::kOutputResult, a.output, axes);
  return lowered;
}

}  // namespace canopy::opapi::convolution
