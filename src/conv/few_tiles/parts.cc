// SPDX-License-Identifier: Apache-2.0
#include "conv/few_tiles/parts.h"

#include "base/checked_math.h"

namespace canopy::conv::few_tiles {
namespace {

int64_t Residue(int64_t value, int64_t stride) { return (value % stride + stride) % stride; }

// How many numbers first, first + step, ... are below `size`.
int64_t CountFrom(int64_t first, int64_t step, int64_t size) {
  return first < size ? base::CeilDiv(size - first, step) : 0;
}

// Kernel offsets residue, residue + stride, ...
int64_t TapsOf(int64_t residue, int64_t stride) { return CountFrom(residue, stride, kKernel); }

// Result x meets source o under kernel offset x + pad - o * stride.
AxisPart DataPart(const Geometry& g, int axis, int64_t residue) {
  const int64_t stride = g.stride[axis], pad = g.pad_begin[axis];
  AxisPart part;
  part.taps = TapsOf(residue, stride);
  part.first = Residue(residue - pad, stride);
  part.step = stride;
  part.positions = CountFrom(part.first, stride, g.input_size[axis]);
  part.shift = (part.first + pad - residue) / stride - (part.taps - 1);
  part.source_count = g.output_size[axis];
  return part;
}

// Output o meets input o * stride - pad + k under kernel offset k.
AxisPart WeightsPart(const Geometry& g, int axis, int64_t residue) {
  const int64_t stride = g.stride[axis], pad = g.pad_begin[axis];
  AxisPart part;
  part.taps = TapsOf(residue, stride);
  part.positions = g.output_size[axis];
  part.source_first = Residue(residue - pad, stride);
  part.source_step = stride;
  part.source_count = CountFrom(part.source_first, stride, g.input_size[axis]);
  part.shift = (residue - pad - part.source_first) / stride;
  return part;
}

std::vector<Part> Parts(const Geometry& g, AxisPart (*part)(const Geometry&, int, int64_t)) {
  std::vector<Part> parts;
  for (int64_t i = 0; i < g.stride[1] * g.stride[2]; ++i) {
    parts.push_back({part(g, 1, i / g.stride[1]), part(g, 2, i % g.stride[2])});
  }
  return parts;
}

}  // namespace

std::vector<Part> DataParts(const Geometry& geometry) { return Parts(geometry, DataPart); }
std::vector<Part> WeightsParts(const Geometry& geometry) { return Parts(geometry, WeightsPart); }

}  // namespace canopy::conv::few_tiles
