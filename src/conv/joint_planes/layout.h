// SPDX-License-Identifier: Apache-2.0
// Where output gradients lie beside the input's pixels so that every kernel offset is one shift for the whole plane: in
// a sheet whose rows are so far apart that the zeros behind one are also those before the next, and likewise its
// images.
#ifndef CANOPY_CONV_JOINT_PLANES_LAYOUT_H_
#define CANOPY_CONV_JOINT_PLANES_LAYOUT_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "conv/planes/residues.h"
#include "conv/problem.h"

namespace canopy::conv::joint_planes {

// One axis, whose `positions` are those of the input's largest residue. Position p reads the output's positions from
// p - before to p + after, not all of which exist.
struct Reach {
  Reach() = default;
  Reach(const Geometry& geometry, int axis);

  // Output positions from the first that are read, with some that are not where `before` is negative.
  int64_t Existing() const { return std::clamp<int64_t>(positions + after, 0, outputs); }

  // From one row, or image, to the next: no position of one reads what exists of another.
  int64_t Pitch() const;

  // Whether every output position is read.
  bool MeetsAll() const { return before >= 0 && positions + after >= outputs; }

  std::vector<planes::Residue> residues;
  int64_t positions = 0, outputs = 0;
  int64_t before = 0, after = 0;
};

// Kernel offsets of one residue of rows and one of columns that a kernel takes at once.
struct Pass {
  int64_t row_residue = 0, column_residue = 0;
  int64_t row = 0, rows = 0, column = 0, columns = 0;  // kernel offsets of the residues
  bool first = false, last = false;                    // of its residues
};

// One pass over each residue of rows, for kernels of pairs; empty where there are none.
std::vector<Pass> ListPairPasses(const Reach& rows, const Reach& columns);

// Time of one vector of a pass, in the units of Step::Work; `results`: of the input's and the weights' gradients how
// many it gives.
double VectorWork(int64_t rows, int64_t columns, bool first, int results);

// Likewise of an even and an odd vector of a pass over pairs.
double PairWork(int64_t rows, int results);

// Every kernel offset is in one of them.
std::vector<Pass> ListPasses(const Reach& rows, const Reach& columns);

}  // namespace canopy::conv::joint_planes

#endif  // CANOPY_CONV_JOINT_PLANES_LAYOUT_H_
