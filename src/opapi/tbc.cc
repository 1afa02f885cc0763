// SPDX-License-Identifier: Apache-2.0
#include "opapi/tbc.h"

#include <algorithm>
#include <array>

#include "opapi/require.h"
#include "opapi/text.h"

namespace canopy::opapi {

using base::Checked;
using base::Status;

Checked TbcOutputTime(const TensorArgument& input, const TensorArgument& weight, int64_t pad) {
  return Checked(input.dim(0)) + Checked(2) * pad + 1 - weight.dim(0);
}

std::string TbcOutputTimeText(const TensorArgument& input, const TensorArgument& weight, int64_t pad) {
  const Checked time = TbcOutputTime(input, weight, pad);
  return Text(time.ok() ? Text(time.value(), " = ") : "", "T + 2*pad + 1 - K with T = ", input.dim(0), ", pad = ", pad,
              ", K = ", weight.dim(0));
}

Status RequireTbcResultShape(const TensorArgument& result, const TensorArgument& input, const TensorArgument& weight,
                             int64_t pad) {
  const Checked time = TbcOutputTime(input, weight, pad);
  if (!time.ok() || result.dim(0) != time.value()) {
    return Refuse(Text(result.name, " extent 0"), Text(result.dim(0)), TbcOutputTimeText(input, weight, pad));
  }
  CANOPY_RETURN_IF_ERROR(RequireExtent(result, 1, input.dim(1), Text(input.name, "'s batch size")));
  return RequireExtent(result, 2, weight.dim(2), "weight extent 2");
}

Status RequireTbcWorkFits(const TensorArgument& result, const TensorArgument& weight) {
  Checked work = 2;
  for (int64_t axis = 0; axis < 3; ++axis) work = work * std::max<int64_t>(result.dim(axis), 1);
  work = work * std::max<int64_t>(weight.dim(0), 1) * std::max<int64_t>(weight.dim(1), 1);
  if (work.ok()) return {};
  return Refuse("weight shape", ListText(weight.view.dims, weight.rank()),
                "one that needs fewer than 2^62 multiply-adds in all");
}

conv::Geometry TbcGeometry(const TensorArgument& input, const TensorArgument& weight, const TensorArgument& output,
                           int64_t pad) {
  conv::Geometry geometry;
  geometry.batch = input.dim(1);
  geometry.input_channels = input.dim(2);
  geometry.output_channels = weight.dim(2);
  geometry.input_size = SpatialExtents(input, kTbcAxes);
  geometry.output_size = SpatialExtents(output, kTbcAxes);
  geometry.kernel = SpatialExtents(weight, kTbcWeightAxes);
  geometry.pad_begin[2] = pad;
  return geometry;
}

void JoinStepsAndImages(conv::ConvProblem* problem) {
  conv::Geometry& g = problem->geometry;
  if (g.kernel[2] != 1 || g.pad_begin[2] != 0 || g.input_size != g.output_size) return;
  const std::array<conv::Operand*, 4> tensors{&problem->input, &problem->output, &problem->input_result,
                                              &problem->output_result};
  const auto are_a_row = [&](const conv::Operand* tensor) {
    const Checked step = Checked(g.batch) * tensor->strides[0];
    return step.ok() && tensor->strides[4] == step.value();
  };
  if (!std::all_of(tensors.begin(), tensors.end(), are_a_row)) return;
  g.input_size[2] *= g.batch;
  g.output_size[2] *= g.batch;
  g.batch = std::min<int64_t>(1, g.batch);
  for (conv::Operand* tensor : tensors) {
    tensor->strides[4] = tensor->strides[0];
    tensor->strides[0] *= g.input_size[2];
  }
}

Limited TbcLimited(const TensorArgument& weight, int64_t pad) {
  Limited call;
  call.windows[0] = {.kernel = weight.dim(0), .pad_begin = pad, .pad_end = pad};
  call.names[2] = "pad";
  call.kernel_axis = 0;
  return call;
}

}  // namespace canopy::opapi
