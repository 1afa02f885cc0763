// SPDX-License-Identifier: Apache-2.0
// One axis of a convolution's input, parted by its positions' residues modulo the stride: each residue meets the output
// under kernel offsets of its own, without stride.
#ifndef CANOPY_CONV_SHEETS_RESIDUES_H_
#define CANOPY_CONV_SHEETS_RESIDUES_H_

#include <cstdint>
#include <vector>

#include "conv/problem.h"

namespace canopy::conv::sheets {

// One residue of the input along one axis: input position i of it meets output position i - first - k under its kernel
// offset k, which is offset `kernel` + k * stride of the whole kernel.
struct Residue {
  int64_t input = 0;  // positions
  int64_t first = 0;
  int64_t kernel = 0, offsets = 0;
};

// REQUIRES: no dilation along the axis.
std::vector<Residue> ResiduesOf(const Geometry& geometry, int axis);

}  // namespace canopy::conv::sheets

#endif  // CANOPY_CONV_SHEETS_RESIDUES_H_
