// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/weights_lister.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/winograd/tile_runs.h"

namespace canopy::conv::winograd {

using base::CeilDiv;

void WeightsLister::List(const WeightsChunk& chunk, const WeightsTiles& tiles) const {
  for (int64_t depth = 0; depth < cut_.shape.depths; ++depth) {
    for (int without = 0; without < WeightsShape::kKinds; ++without) ListSums(chunk, depth, without, tiles);
  }
}

// visit(input tile, output tile, count) for the runs of tiles that meet under a depth of the kernel, but for the
// kinds that share a bit with `without`.
template <class F>
void WeightsLister::EachRun(const WeightsChunk& chunk, int64_t depth, int without, const F& visit) const {
  const int64_t bands = chunk.end - chunk.begin;
  const int64_t at_once = cut_.interlaced() ? bands : 1;  // their tiles are runs
  for (int64_t index = chunk.begin; index < chunk.end; index += at_once) {
    const TileBand band = cut_.bands.At(index);
    const WeightsStep::Slices inputs = s_.InputSlices(band), outputs = s_.OutputSlices(band);
    const int64_t slice = band.count[1] * band.count[2] * (cut_.shape.in_depth() ? band.count[0] : 1);
    const int64_t shift = cut_.shape.in_depth() ? 0 : depth - s_.g_.pad_begin[0];
    const int64_t place = index - chunk.begin;
    const TileKinds kinds = s_.KindsOf(band);
    for (int64_t i = 0; i < outputs.count; ++i) {
      const int64_t input = (outputs.begin + i) * cut_.shape.depth_stride + shift - inputs.begin;
      if (input < 0 || input >= inputs.count) continue;
      for (int kind = 0; kind < WeightsShape::kKinds; ++kind) {
        if ((kind & without) != 0 || kinds[kind].tiles() == 0) continue;
        const int64_t slot = kinds[kind].slot;
        visit(cut_.RowsAt(place, input * slice + slot, cut_.band_inputs, bands).first,
              cut_.RowsAt(place, i * slice + slot, cut_.band_outputs, bands).first, kinds[kind].tiles() * at_once);
      }
    }
  }
}

// Sums alike in length, of which there is one even where nothing meets.
void WeightsLister::ListSums(const WeightsChunk& chunk, int64_t depth, int without, const WeightsTiles& tiles) const {
  const int64_t list = depth * WeightsShape::kKinds + without;
  int64_t left = 0;
  EachRun(chunk, depth, without, [&](int64_t, int64_t, int64_t count) { left += count; });
  int64_t sums_left = std::max<int64_t>(1, CeilDiv(left, kTilesASum));
  tiles.sum_counts[list] = sums_left;
  TileSum* sum = tiles.sums + list * cut_.most_sums();
  kernels::GatherRun* runs = tiles.runs + list * cut_.most_runs();
  *sum = {0, 0, 0};
  int64_t room = left / sums_left;  // of the sum
  EachRun(chunk, depth, without, [&](int64_t input, int64_t output, int64_t count) {
    while (count > 0) {
      if (room == 0) {
        const int64_t next = sum->first + sum->count;
        *++sum = {next, 0, 0};
        room = left / --sums_left;
      }
      const int64_t terms = std::min(room, count);
      const kernels::GatherRun run{input * cut_.inputs_panel, output * cut_.row_lanes(), terms};
      kernels::GatherRun* end = runs + sum->first + sum->count;
      if (sum->count == 0 || !Continue(end - 1, run, cut_.inputs_panel, cut_.row_lanes())) {
        *end = run;
        ++sum->count;
      }
      sum->terms += terms;
      input += terms;
      output += terms;
      count -= terms;
      room -= terms;
      left -= terms;
    }
  });
}

}  // namespace canopy::conv::winograd
