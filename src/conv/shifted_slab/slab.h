// SPDX-License-Identifier: Apache-2.0
// A slab is a zero-padded FP32 copy of the piece of a tensor that one job reads, channel by channel, laid out so that
// every kernel offset is a constant shift of one flat index: position (image, h, w) of the job and tap t meet at
//   slab[channel][plane of t + ((image * image_rows + h) * pitch + w) + shift of t].
// A product over channels then reads its vectors straight from the slab, with no gathering tap by tap. Positions
// between the rows are computed and thrown away; neighbouring rows share their zeros, which keeps those few.
#ifndef CANOPY_CONV_SHIFTED_SLAB_SLAB_H_
#define CANOPY_CONV_SHIFTED_SLAB_SLAB_H_

#include <array>
#include <cstdint>
#include <vector>

#include "conv/grid.h"

namespace canopy::conv::shifted_slab {

// How the taps of one axis read: source coordinate = (walked + shift) * step + residue.
struct AxisTaps {
  struct Tap {
    int64_t kernel;
    int64_t residue_index;
    int64_t shift;  // from least_shift
  };

  AxisTaps() = default;
  explicit AxisTaps(const AxisPhase& phase);

  // Positions that a row of `walked` outputs reads.
  int64_t Extent(int64_t walked) const { return walked + most_shift; }

  // Leading positions of the whole axis that are padding in every plane, and trailing ones; both are 0 in memory and so
  // may be shared by neighbours.
  int64_t SharedZeros(int64_t walk, int64_t size) const;

  int64_t step = 1;
  int64_t least_shift = 0;  // of any tap; a slab's first position stands for it
  int64_t most_shift = 0;   // from least_shift
  std::vector<int64_t> residues;
  std::vector<Tap> taps;
};

// One dense product: a phase of each axis, cut into jobs.
struct PhaseShape {
  std::array<const AxisPhase*, 3> axes{};
  std::array<AxisTaps, 3> taps;

  // A job walks `images` images, `rows` rows and `columns` columns of one depth.
  int64_t images = 1, rows = 0, columns = 0;
  int64_t image_blocks = 0, row_blocks = 0, column_blocks = 0;
  int64_t pitch = 0, image_rows = 0;    // positions from row to row, rows from image to image
  int64_t positions = 0;                // that a job computes, those between the rows included
  int64_t plane_elems = 0, planes = 0;  // of one channel
  int64_t channel_elems = 0;            // from channel to channel
  int64_t packed_offset = 0;            // floats from the group's packed weights
  int64_t first_job = 0;

  int64_t tap_count() const {
    return static_cast<int64_t>(taps[0].taps.size() * taps[1].taps.size() * taps[2].taps.size());
  }
  int64_t PlaneIndex(int64_t d, int64_t h_residue, int64_t w_residue) const {
    return (d * static_cast<int64_t>(taps[1].residues.size()) + h_residue) *
               static_cast<int64_t>(taps[2].residues.size()) +
           w_residue;
  }
  // From a position to what it meets under tap number d of the depth axis, h and w.
  int64_t TapOffset(int64_t d, const AxisTaps::Tap& h, const AxisTaps::Tap& w) const {
    return PlaneIndex(d, h.residue_index, w.residue_index) * plane_elems + h.shift * pitch + w.shift;
  }
  int64_t jobs() const { return axes[0]->walk * image_blocks * row_blocks * column_blocks; }

  // Cuts the walk so that a job computes at most about `most_positions`.
  void Cut(int64_t batch, const Extent3& source_size, int64_t most_positions);
};

}  // namespace canopy::conv::shifted_slab

#endif  // CANOPY_CONV_SHIFTED_SLAB_SLAB_H_
