// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/residues.h"

#include "base/checked_math.h"

namespace canopy::conv::sheets {
namespace {

// The least i with i * step >= value.
int64_t CeilDiv(int64_t value, int64_t step) { return value > 0 ? base::CeilDiv(value, step) : -(-value / step); }

}  // namespace

std::vector<Residue> ResiduesOf(const Geometry& g, int axis) {
  std::vector<Residue> residues;
  const int64_t stride = g.stride[axis], pad = g.pad_begin[axis];
  for (int64_t r = 0; r < stride; ++r) {
    Residue residue;
    residue.input = CeilDiv(g.input_size[axis] - r, stride);
    residue.kernel = (r + pad) % stride;
    residue.offsets = g.kernel[axis] > residue.kernel ? base::CeilDiv(g.kernel[axis] - residue.kernel, stride) : 0;
    residue.first = (residue.kernel - pad - r) / stride;  // exactly
    residues.push_back(residue);
  }
  return residues;
}

}  // namespace canopy::conv::sheets
