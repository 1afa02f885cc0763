// SPDX-License-Identifier: Apache-2.0
#include "conv/shifted_slab/slab.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::conv::shifted_slab {
namespace {

using base::CeilDiv;

int64_t FloorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -CeilDiv(-a, b); }

// Equal blocks, none larger than `most`.
int64_t EvenBlock(int64_t whole, int64_t most) { return CeilDiv(whole, CeilDiv(whole, std::max<int64_t>(1, most))); }

}  // namespace

AxisTaps::AxisTaps(const AxisPhase& phase) : step(phase.source_step) {
  int64_t last_shift = 0;
  for (const AxisTap& tap : phase.taps) {
    const int64_t shift = FloorDiv(tap.shift, step), residue = tap.shift - shift * step;
    const auto found = std::find(residues.begin(), residues.end(), residue);
    taps.push_back({tap.kernel, found - residues.begin(), shift});
    if (found == residues.end()) residues.push_back(residue);
    least_shift = taps.size() == 1 ? shift : std::min(least_shift, shift);
    last_shift = taps.size() == 1 ? shift : std::max(last_shift, shift);
  }
  for (Tap& tap : taps) tap.shift -= least_shift;
  most_shift = last_shift - least_shift;
}

int64_t AxisTaps::SharedZeros(int64_t walk, int64_t size) const {
  int64_t shared = most_shift;  // more, and walked positions themselves would share
  for (int64_t residue : residues) {
    const int64_t leading = FloorDiv(step - 1 - residue, step) - least_shift;  // positions below coordinate 0
    const int64_t end = size <= residue ? 0 : CeilDiv(size - residue, step);   // first position past the tensor
    const int64_t trailing = Extent(walk) - (end - least_shift);
    shared = std::min({shared, std::max<int64_t>(0, leading), std::max<int64_t>(0, trailing)});
  }
  return shared;
}

void PhaseShape::Cut(int64_t batch, const Extent3& source_size, int64_t most_positions) {
  const int64_t height = axes[1]->walk, width = axes[2]->walk;
  columns = EvenBlock(width, most_positions);
  pitch = taps[2].Extent(columns) - (columns == width ? taps[2].SharedZeros(width, source_size[2]) : 0);
  rows = EvenBlock(height, most_positions / pitch);
  images = 1;
  image_rows = taps[1].Extent(rows);
  if (rows == height && columns == width) {
    image_rows -= taps[1].SharedZeros(height, source_size[1]);
    images = EvenBlock(batch, most_positions / (image_rows * pitch));
  }
  image_blocks = CeilDiv(batch, images);
  row_blocks = CeilDiv(height, rows);
  column_blocks = CeilDiv(width, columns);
  positions = ((images - 1) * image_rows + rows - 1) * pitch + columns;
  planes = static_cast<int64_t>(taps[0].taps.size() * taps[1].residues.size() * taps[2].residues.size());
  plane_elems = ((images - 1) * image_rows + taps[1].Extent(rows) - 1) * pitch + taps[2].Extent(columns);
}

}  // namespace canopy::conv::shifted_slab
