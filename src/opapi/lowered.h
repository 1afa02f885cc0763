// SPDX-License-Identifier: Apache-2.0
// A checked call turned into the engine's terms: the canonical problem, and which argument plays which part in it. From
// here on nobody asks whether it was 1D, TBC or transposed.
#ifndef CANOPY_OPAPI_LOWERED_H_
#define CANOPY_OPAPI_LOWERED_H_

#include <array>
#include <cstdint>

#include "conv/problem.h"
#include "nnopbase/tensor_view.h"
#include "opapi/arguments.h"
#include "opapi/window.h"

namespace canopy::opapi {

// Which axis of a view is (n, c, d, h, w), or (co, ci, kd, kh, kw) of a weight; kNoAxis: it has none and counts as 1.
inline constexpr int kNoAxis = -1;
using AxisOrder = std::array<int, 5>;

inline constexpr AxisOrder kTbcAxes{1, 2, kNoAxis, kNoAxis, 0};
inline constexpr AxisOrder kTbcWeightAxes{2, 1, kNoAxis, kNoAxis, 0};
inline constexpr AxisOrder kBiasAxes{kNoAxis, 0, kNoAxis, kNoAxis, kNoAxis};

// Spatial axes fill up from the width: 1D has a width only, 2D a height and a width.
constexpr AxisOrder ChannelsFirst(int64_t spatial_rank) {
  return {0, 1, spatial_rank > 2 ? 2 : kNoAxis, spatial_rank > 1 ? static_cast<int>(spatial_rank) : kNoAxis,
          static_cast<int>(spatial_rank) + 1};
}

inline constexpr int kMaxBindings = 6;  // backward: three tensors and three gradients

// What an argument is to a run.
enum class Role : uint8_t {
  kInput,
  kWeight,
  kOutput,
  kBias,
  kInputResult,
  kWeightResult,
  kOutputResult,
  kBiasResult,
  kZeros,  // a result that is filled with zeros, outside the problem
};

struct Lowered {
  struct Binding {
    const TensorArgument* tensor;
    Role role;
  };

  conv::ConvProblem problem;  // no computation: the engine has nothing to do
  std::array<Binding, kMaxBindings> bindings{};
  int binding_count = 0;

  // Makes `tensor` the problem's operand of that role.
  void Bind(Role role, const TensorArgument& tensor, const AxisOrder& axes);
  // Makes `tensor` a result of zeros, where it has elements.
  void BindZeros(const TensorArgument& tensor);
};

// Makes `address` the engine's buffer of that role; zeros have none.
void SetBuffer(Role role, void* address, conv::Buffers* buffers);

// The spatial extents of a view.
conv::Extent3 SpatialExtents(const TensorArgument& tensor, const AxisOrder& axes);

// Sets stride, dilation and low padding of the geometry's last axes.
// REQUIRES: axis < spatial_rank; the geometry has its extents and its kernel.
void SetWindow(conv::Geometry* geometry, int64_t spatial_rank, int64_t axis, const Window& window);

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_LOWERED_H_
