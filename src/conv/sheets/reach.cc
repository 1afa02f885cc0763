// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/reach.h"

#include <algorithm>
#include <limits>

namespace canopy::conv::sheets {

Reach::Reach(const Geometry& g, int axis) : residues(ResiduesOf(g, axis)), outputs(g.output_size[axis]) {
  before = after = std::numeric_limits<int64_t>::min();
  for (const Residue& residue : residues) {
    positions = std::max(positions, residue.input);
    if (residue.offsets == 0) continue;
    before = std::max(before, residue.first + residue.offsets - 1);
    after = std::max(after, -residue.first);
  }
}

int64_t Reach::Pitch() const {
  return std::max({positions, positions + after, Existing() + std::max<int64_t>(0, before)});
}

bool Reach::HasGaps() const {
  return std::any_of(residues.begin(), residues.end(), [](const Residue& residue) { return residue.offsets == 0; });
}

}  // namespace canopy::conv::sheets
