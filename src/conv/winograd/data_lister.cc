// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/data_lister.h"

#include <array>

namespace canopy::conv::winograd {

using packing::Box;

namespace {

bool Within(int64_t index, int64_t count) { return index >= 0 && index < count; }

// A row of pixels: element 0 of pixel 0, from pixel to pixel, and how many there are.
struct Line {
  int64_t first, step, count;

  // Of `pixels` of them, from number `x` on, `x_step` apart; 0 for those that do not exist. Returns the end of the
  // list.
  int64_t* List(int64_t x, int64_t x_step, int64_t pixels, int64_t* offsets) const {
    for (int64_t k = 0; k < pixels; ++k, x += x_step) *offsets++ = Within(x, count) ? first + x * step : 0;
    return offsets;
  }
};

}  // namespace

void DataLister::Taps(const Extent3& term, const Extent3& phase, int64_t tap_floats, int64_t* offsets) const {
  const Extent3& kernel = s_.weight_.kernel;
  const auto& axes = t_.axes;
  ForEach({axes[0].taps, axes[1].taps, axes[2].taps}, [&](int64_t i, int64_t j, int64_t k) {
    const Extent3 tap{i, j, k};
    int64_t at = 0;
    bool lacks = false;
    for (int axis = 0; axis < 3; ++axis) {
      lacks = lacks || axes[axis].Lacks(term[axis], phase[axis], tap[axis]);
      at = at * kernel[axis] + axes[axis].Offset(term[axis], phase[axis], tap[axis]);
    }
    *offsets++ = (lacks ? s_.weight_.taps : at) * tap_floats;
  });
}

int DataLister::LastTiles(const Box& box) const {
  const Extent3 tiles = t_.Tiles(s_.phase_size_);
  int bits = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const bool last = t_.axes[axis].window > 1 && box.first[axis + 1] + box.count[axis + 1] == tiles[axis];
    bits |= last ? t_.KindBit(axis) : 0;
  }
  return bits;
}

int DataLister::KindOf(const Box& box, int last, const Extent3& window) const {
  int bits = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t tiles = box.count[axis + 1];
    const bool is_last = t_.axes[axis].window > 1 && window[axis] % tiles + 1 == tiles;
    bits |= is_last ? t_.KindBit(axis) & last : 0;
  }
  return bits;
}

Extent3 DataLister::PixelsOf(int kind, int64_t (AxisTiling::*pixels)(bool) const) const {
  Extent3 count;
  for (int axis = 0; axis < 3; ++axis) {
    const bool last = t_.axes[axis].window > 1 && (kind & t_.KindBit(axis)) != 0;
    count[axis] = (t_.axes[axis].*pixels)(last);
  }
  return count;
}

// Where the tiles of each kind begin in the lists. In this order those that share no bit with some kind adjoin.
std::array<int64_t, Tiling::kKinds> DataLister::StartKinds(const Box& box, int last, const DataScratch& scratch) const {
  constexpr std::array<int, Tiling::kKinds> kOrder{2, 0, 1, 3};
  std::array<int64_t, Tiling::kKinds> counts{}, first{};
  ForEach({box.count[1], box.count[2], box.count[3]}, [&](int64_t d, int64_t h, int64_t w) {
    counts[KindOf(box, last, {d, h, w})] += box.count[0];
  });
  auto& without = scratch.listed->tiles_without;
  without = {};
  int64_t tiles = 0;
  for (const int kind : kOrder) {
    first[kind] = tiles;
    for (int bits = 0; bits < Tiling::kKinds; ++bits) {
      if ((kind & bits) != 0 || counts[kind] == 0) continue;
      if (without[bits].count == 0) without[bits].first = tiles;
      without[bits].count += counts[kind];
    }
    tiles += counts[kind];
  }
  return first;
}

void DataLister::Windows(const Box& box, const packing::SlabShape& shape, const DataScratch& scratch) const {
  const auto& axes = t_.axes;
  Extent3 first;  // of the first window, in the slab
  for (int axis = 0; axis < 3; ++axis) {
    first[axis] = box.first[axis + 1] * axes[axis].tile * axes[axis].stride + s_.shift_[axis] - shape.axes[axis].begin;
  }
  const int last = LastTiles(box);
  const std::array<int64_t, 11> key = {
      box.count[0], box.count[1],        box.count[2],        box.count[3],        first[0], first[1],
      first[2],     shape.axes[0].count, shape.axes[1].count, shape.axes[2].count, last};
  if (scratch.listed->windows == key) return;
  scratch.listed->windows = key;
  const auto begin = [&](int axis, int64_t index) {
    return first[axis] + axes[axis].WindowBegin(index, box.count[axis + 1]);
  };
  int64_t *list = scratch.window_offsets, *kinds = scratch.window_kinds;
  for (int64_t n = 0; n < box.count[0]; ++n) {
    ForEach({s_.windows(box.count, 0), s_.windows(box.count, 1), s_.windows(box.count, 2)},
            [&](int64_t d, int64_t h, int64_t w) {
              const int64_t depth = begin(0, d), row = begin(1, h), column = begin(2, w);
              const int kind = KindOf(box, last, {d, h, w});
              int64_t* offsets = list;
              list += t_.window();
              *kinds++ = kind;
              const Extent3 pixels = PixelsOf(kind, &AxisTiling::window_pixels);
              ForEach({pixels[0], pixels[1], 1}, [&](int64_t i, int64_t j, int64_t) {
                const int64_t z = depth + i * axes[0].pixel_step(), y = row + j * axes[1].pixel_step();
                const bool exists = Within(z, shape.axes[0].count) && Within(y, shape.axes[1].count);
                const Line line{(1 + shape.Pixel(z, y, 0) + n) * shape.panel, shape.images * shape.panel,
                                exists ? shape.axes[2].count : 0};
                offsets = line.List(column, axes[2].pixel_step(), pixels[2], offsets);
              });
            });
  }
}

void DataLister::Tiles(const Box& box, int64_t lanes, const DataScratch& scratch) const {
  const auto& axes = t_.axes;
  Extent3 first, results;  // result 0 of phase 0, from the box's first; how many
  for (int axis = 0; axis < 3; ++axis) {
    const packing::AxisRange range = s_.Results(box, axis);
    first[axis] = box.first[axis + 1] * axes[axis].tile * axes[axis].phases - s_.missing_[axis] - range.begin;
    results[axis] = range.count;
  }
  const int last = LastTiles(box);
  const std::array<int64_t, 12> key = {box.count[0], box.count[1], box.count[2], box.count[3], first[0], first[1],
                                       first[2],     results[0],   results[1],   results[2],   lanes,    last};
  if (scratch.listed->tiles == key) return;
  scratch.listed->tiles = key;
  std::array<int64_t, Tiling::kKinds> next = StartKinds(box, last, scratch);
  for (int64_t n = 0; n < box.count[0]; ++n) {
    ForEach({box.count[1], box.count[2], box.count[3]}, [&](int64_t d, int64_t h, int64_t w) {
      const int kind = KindOf(box, last, {d, h, w});
      const int64_t tile = next[kind]++;
      scratch.tile_kinds[tile] = kind;
      scratch.row_offsets[tile] = Window(box, n, d, h, w) * s_.padded_sources_;
      scratch.sum_offsets[tile] = tile * lanes;
      for (int64_t phase = 0; phase < t_.phases(); ++phase) {
        const Extent3 at = t_.PhaseAt(phase);
        int64_t* offsets = scratch.tile_offsets + (phase * box.positions() + tile) * t_.tile();
        const Extent3 pixels = PixelsOf(kind, &AxisTiling::tile_results);
        const int64_t x = first[2] + axes[2].Result(w, 0, at[2]), x_step = axes[2].dilation * axes[2].phases;
        ForEach({pixels[0], pixels[1], 1}, [&](int64_t i, int64_t j, int64_t) {
          const int64_t z = first[0] + axes[0].Result(d, i, at[0]), y = first[1] + axes[1].Result(h, j, at[1]);
          const bool exists = Within(z, results[0]) && Within(y, results[1]);
          const Line line{(1 + ((n * results[0] + z) * results[1] + y) * results[2]) * lanes, lanes,
                          exists ? results[2] : 0};
          offsets = line.List(x, x_step, pixels[2], offsets);
        });
      }
    });
  }
}

}  // namespace canopy::conv::winograd
