// SPDX-License-Identifier: Apache-2.0
// Where the numbers of a data gradient or forward stand that its transforms read and write, as lists of offsets.
#ifndef CANOPY_CONV_WINOGRAD_DATA_LISTER_H_
#define CANOPY_CONV_WINOGRAD_DATA_LISTER_H_

#include <array>
#include <cstdint>

#include "conv/packing/boxes.h"
#include "conv/packing/slab.h"
#include "conv/winograd/data_step.h"

namespace canopy::conv::winograd {

template <class F>
void ForEach(const Extent3& count, const F& visit) {
  for (int64_t d = 0; d < count[0]; ++d) {
    for (int64_t h = 0; h < count[1]; ++h) {
      for (int64_t w = 0; w < count[2]; ++w) visit(d, h, w);
    }
  }
}

class DataLister {
 public:
  explicit DataLister(const DataStep& step) : s_(step), t_(step.tiling_) {}

  // Where the taps of a term stand among the packed ones; those that it lacks are behind them.
  void Taps(const Extent3& term, const Extent3& phase, int64_t tap_floats, int64_t* offsets) const;

  // Where the pixels of every window stand in the slab; those in the padding are its first line. Most boxes are alike.
  void Windows(const packing::Box& box, const packing::SlabShape& shape, const DataScratch& scratch) const;

  // Where the results of every phase's tiles stand; those beyond the tensor go to the first line.
  void Tiles(const packing::Box& box, int64_t lanes, const DataScratch& scratch) const;

  // Calls visit(term, window) for the terms whose kernel's number at a point is not 0, with the number of the window
  // that the box's first tile meets under it.
  template <class Visit>
  void ForTerms(const packing::Box& box, int64_t phase, int64_t point, const Visit& visit) const {
    const auto& axes = t_.axes;
    const Extent3 in_phase = t_.PhaseAt(phase), at = t_.PointAt(point);
    Extent3 step;
    for (int axis = 0; axis < 3; ++axis) step[axis] = axes[axis].term_step(box.count[axis + 1]);
    int64_t term = 0;
    ForEach({axes[0].terms, axes[1].terms, axes[2].terms}, [&](int64_t d, int64_t h, int64_t w) {
      const int64_t this_term = term++;
      if (axes[0].Vanishes(d, in_phase[0], at[0]) || axes[1].Vanishes(h, in_phase[1], at[1]) ||
          axes[2].Vanishes(w, in_phase[2], at[2])) {
        return;
      }
      visit(this_term, Window(box, 0, d * step[0], h * step[1], w * step[2]));
    });
  }

  // The number of a window of the box.
  int64_t Window(const packing::Box& box, int64_t n, int64_t d, int64_t h, int64_t w) const {
    return ((n * s_.windows(box.count, 0) + d) * s_.windows(box.count, 1) + h) * s_.windows(box.count, 2) + w;
  }

 private:
  // Along which axes the box's last tiles are the tensor's, as bits of a kind of tile.
  int LastTiles(const packing::Box& box) const;
  // The kind of tile to which a window of the box, or its tile, belongs.
  int KindOf(const packing::Box& box, int last, const Extent3& window) const;
  std::array<int64_t, Tiling::kKinds> StartKinds(const packing::Box& box, int last, const DataScratch& scratch) const;
  Extent3 PixelsOf(int kind, int64_t (AxisTiling::*pixels)(bool) const) const;

  const DataStep& s_;
  const Tiling& t_;
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_DATA_LISTER_H_
