// SPDX-License-Identifier: Apache-2.0
// Walking positions. The columns of the matrix product are positions of a grid (batch times up to three axes); every
// kernel offset maps a walked position to a tensor's coordinate by coordinate = walked * step + shift on each axis.
#ifndef CANOPY_CONV_GRID_H_
#define CANOPY_CONV_GRID_H_

#include <cstdint>
#include <vector>

#include "conv/problem.h"
#include "kernels/lines/contract.h"

namespace canopy::conv {

struct PixelMap {
  Extent3 walk{};                  // extents of the walked grid, one image
  Extent3 step{1, 1, 1}, shift{};  // walked -> coordinate
  Extent3 size{};                  // coordinates outside [0, size) are padding
  int64_t batch_stride = 0;        // elements
  Extent3 stride{};                // elements a coordinate

  // Elements between neighbours on the walk's last axis.
  int64_t element_step() const { return step[2] * stride[2]; }
};

// Walked positions [low, high) of one axis whose coordinate lies in [0, size); none where low >= high.
void ValidRange(int64_t step, int64_t shift, int64_t size, int64_t walk, int64_t* low, int64_t* high);

// The input under the output's positions, walked under one kernel offset, counted through depth, height, width.
PixelMap InputMap(const ConvProblem& problem, int64_t tap);
// The output at its own positions, likewise.
PixelMap OutputMap(const ConvProblem& problem);

// The tensor elements under walked positions [begin, begin + count), counted through batch, depth, height, width.
// Positions in padding are left out; stretches that follow one another in memory are one segment.
// REQUIRES: `segments` holds `count` entries; no extent of the walk is 0. Returns how many were made.
int64_t BuildSegments(const PixelMap& map, int64_t begin, int64_t count, kernels::Segment* segments);

// One kernel offset along one axis.
struct AxisTap {
  int64_t kernel;  // index into the kernel
  int64_t shift;   // of the source coordinate
};

// The part of one axis that one dense product serves. Forward has one phase an axis; backward data has one for every
// residue of the input coordinate modulo the stride that some kernel offset reaches, so that no zero is multiplied.
struct AxisPhase {
  int64_t walk = 0;                           // extent
  int64_t source_step = 1;                    // walked -> source coordinate, with the tap's shift
  int64_t result_step = 1, result_shift = 0;  // walked -> result coordinate
  std::vector<AxisTap> taps;
};

std::vector<AxisPhase> ForwardPhases(const Geometry& geometry, int axis);

// Residues that no kernel offset reaches have no phase; `gaps` tells whether there are any.
std::vector<AxisPhase> BackwardDataPhases(const Geometry& geometry, int axis, bool* gaps);

// Whether some walked position of the phase falls into padding under some tap.
bool TouchesPadding(const AxisPhase& phase, int64_t source_size);

// Whether some output position meets padding under some kernel offset, along any axis.
bool MeetsPadding(const Geometry& geometry);

}  // namespace canopy::conv

#endif  // CANOPY_CONV_GRID_H_
