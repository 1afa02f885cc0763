// SPDX-License-Identifier: Apache-2.0
// Where output gradients lie beside the input's pixels so that every kernel offset is one shift for the whole plane: in
// a sheet whose rows are so far apart that the zeros behind one are also those before the next, and likewise its
// images.
#ifndef CANOPY_CONV_SHEETS_REACH_H_
#define CANOPY_CONV_SHEETS_REACH_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "conv/problem.h"
#include "conv/sheets/residues.h"

namespace canopy::conv::sheets {

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

  // Whether no kernel offset reaches some residue.
  bool HasGaps() const;

  std::vector<Residue> residues;
  int64_t positions = 0, outputs = 0;
  int64_t before = 0, after = 0;
};

}  // namespace canopy::conv::sheets

#endif  // CANOPY_CONV_SHEETS_REACH_H_
