// SPDX-License-Identifier: Apache-2.0
#include "opapi/lowered.h"

#include "opapi/dtypes.h"

namespace canopy::opapi {
namespace {

int64_t ExtentOn(const TensorArgument& tensor, int axis) { return axis == kNoAxis ? 1 : tensor.dim(axis); }

// An axis of extent 1 gets the stride that a contiguous tensor would have there: its own never matters, and equal
// problems shall look equal.
conv::Operand MakeOperand(const TensorArgument& tensor, const AxisOrder& axes) {
  conv::Operand operand{ToDType(tensor.view.dtype), {}};
  int64_t next = 1;
  for (int i = 4; i >= 0; --i) {
    const int64_t extent = ExtentOn(tensor, axes[i]);
    operand.strides[i] = extent == 1 ? next : tensor.view.strides[axes[i]];
    if (__builtin_mul_overflow(operand.strides[i], extent, &next)) next = 0;
  }
  return operand;
}

conv::Operand* OperandOf(conv::ConvProblem* problem, Role role) {
  switch (role) {
    case Role::kInput:
      return &problem->input;
    case Role::kWeight:
      return &problem->weight;
    case Role::kOutput:
      return &problem->output;
    case Role::kBias:
      return &problem->bias;
    case Role::kInputResult:
      return &problem->input_result;
    case Role::kWeightResult:
      return &problem->weight_result;
    case Role::kOutputResult:
      return &problem->output_result;
    case Role::kBiasResult:
      return &problem->bias_result;
    case Role::kZeros:
      break;
  }
  return nullptr;
}

}  // namespace

void Lowered::Bind(Role role, const TensorArgument& tensor, const AxisOrder& axes) {
  *OperandOf(&problem, role) = MakeOperand(tensor, axes);
  bindings[binding_count++] = {&tensor, role};
}

void Lowered::BindZeros(const TensorArgument& tensor) {
  if (!tensor.empty()) bindings[binding_count++] = {&tensor, Role::kZeros};
}

void SetBuffer(Role role, void* address, conv::Buffers* buffers) {
  switch (role) {
    case Role::kInput:
      buffers->input = address;
      break;
    case Role::kWeight:
      buffers->weight = address;
      break;
    case Role::kOutput:
      buffers->output = address;
      break;
    case Role::kBias:
      buffers->bias = address;
      break;
    case Role::kInputResult:
      buffers->input_result = address;
      break;
    case Role::kWeightResult:
      buffers->weight_result = address;
      break;
    case Role::kOutputResult:
      buffers->output_result = address;
      break;
    case Role::kBiasResult:
      buffers->bias_result = address;
      break;
    case Role::kZeros:
      break;
  }
}

conv::Extent3 SpatialExtents(const TensorArgument& tensor, const AxisOrder& axes) {
  return {ExtentOn(tensor, axes[2]), ExtentOn(tensor, axes[3]), ExtentOn(tensor, axes[4])};
}

void SetWindow(conv::Geometry* geometry, int64_t spatial_rank, int64_t axis, const Window& window) {
  const int64_t to = 3 - spatial_rank + axis;
  // One place has no stride and one tap no dilation: equal problems shall look equal, and what is left is bounded by
  // the padded extent.
  geometry->stride[to] = geometry->output_size[to] == 1 ? 1 : window.stride;
  geometry->dilation[to] = geometry->kernel[to] == 1 ? 1 : window.dilation;
  geometry->pad_begin[to] = window.pad_begin;
}

}  // namespace canopy::opapi
