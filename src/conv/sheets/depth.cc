// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/depth.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace canopy::conv::sheets {
namespace {

constexpr int64_t kLongRow = 1024;  // elements

bool HasPart(const Geometry& g, int axis) {
  return g.kernel[axis] != 1 || g.stride[axis] != 1 || g.pad_begin[axis] != 0 ||
         g.output_size[axis] != g.input_size[axis];
}

// As many rows as follow one another in all tensors become one, if the kernel has one column and one depth.
void JoinRows(ConvProblem* problem) {
  Geometry& g = problem->geometry;
  const int64_t depth = g.input_size[0], width = g.input_size[2];
  Operand* const planes[] = {&problem->input, &problem->output, &problem->input_result, &problem->output_result};
  const bool follow = std::all_of(std::begin(planes), std::end(planes), [&](const Operand* operand) {
    return operand->strides[2] == width * operand->strides[4];
  });
  if (HasPart(g, 2) || !follow || depth * width == 0) return;
  int64_t rows = std::clamp<int64_t>(kLongRow / width, 1, depth);
  while (depth % rows != 0) --rows;
  for (Extent3* extent : {&g.input_size, &g.output_size}) {
    (*extent)[0] /= rows;
    (*extent)[2] *= rows;
  }
  for (Operand* operand : planes) operand->strides[2] *= rows;
}

}  // namespace

bool HasDepth(const Geometry& g) { return HasPart(g, 0); }

ConvProblem DepthAsHeight(const ConvProblem& problem) {
  ConvProblem turned = problem;
  Geometry& g = turned.geometry;
  if (!HasDepth(g) || HasPart(g, 1)) return turned;
  for (Extent3* extent : {&g.input_size, &g.output_size, &g.kernel, &g.stride, &g.dilation, &g.pad_begin}) {
    std::swap((*extent)[0], (*extent)[1]);
  }
  for (Operand* operand : {&turned.input, &turned.weight, &turned.output, &turned.input_result, &turned.weight_result,
                           &turned.output_result}) {
    std::swap(operand->strides[2], operand->strides[3]);
  }
  JoinRows(&turned);
  return turned;
}

Slices::Slices(const Geometry& g) : residues_(ResiduesOf(g, 0)), stride_(g.stride[0]), outputs_(g.output_size[0]) {
  for (int64_t input = 0; input < g.input_size[0]; ++input) {
    const int64_t count = Of(input).count;
    total_ += count;
    fewest_ = input == 0 ? count : std::min(fewest_, count);
    most_ = std::max(most_, count);
  }
}

SliceRun Slices::Of(int64_t input) const {
  const Residue& residue = residues_[static_cast<size_t>(input % stride_)];
  // Kernel offset k of the residue meets output plane `last` - k, if there is one.
  const int64_t last = input / stride_ - residue.first;
  const int64_t begin = std::max<int64_t>(0, last - outputs_ + 1), end = std::min(residue.offsets, last + 1);
  const Slice first{last - begin, residue.kernel + begin * stride_, input == 0};
  return {std::max<int64_t>(0, end - begin), first, stride_};
}

}  // namespace canopy::conv::sheets
