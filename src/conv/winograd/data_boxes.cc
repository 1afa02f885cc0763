// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/data_boxes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked_math.h"
#include "conv/packing/store.h"
#include "kernels/lines/contract.h"
#include "kernels/streams.h"

namespace canopy::conv::winograd {

using packing::Box;

packing::SlabShape DataBoxes::ShapeOf(const Box& box) const {
  packing::SlabShape shape;
  shape.first_image = box.first[0];
  shape.images = box.count[0];
  shape.panel = s_.slab_channels();
  for (int axis = 0; axis < 3; ++axis) {
    // Just what some result meets: the rest of a window would be rounded into results all the same.
    const AxisTiling& along = t_.axes[axis];
    const int64_t results = box.first[axis + 1] * along.tile, count = box.count[axis + 1] * along.tile;
    const int64_t begin = results * along.stride + s_.shift_[axis], size = s_.source_size_[axis];
    const int64_t end = begin + along.Reach(std::min(count, s_.phase_size_[axis] - results));
    const int64_t low = std::clamp<int64_t>(begin, 0, size);
    shape.axes[axis] = {low, 1, std::max<int64_t>(0, std::min(end, size) - low)};
  }
  return shape;
}

void DataBoxes::TransformBox(int64_t group, const Box& box, int64_t begin, int64_t end, const DataScratch& scratch,
                             float* windows) const {
  packing::SlabShape shape = ShapeOf(box);
  lists_.Windows(box, shape, scratch);
  std::memset(scratch.slab, 0, static_cast<size_t>(shape.panel) * sizeof(float));
  std::array<kernels::WinogradInFn, Tiling::kKinds> transforms;
  for (int kind = 0; kind < Tiling::kKinds; ++kind) transforms[kind] = t_.window_in(kind);
  for (int64_t c = begin; c < end; c += kSlabChannels) {
    shape.first_channel = group * s_.source_channels_ + c;
    shape.channels = std::min(kSlabChannels, end - c);
    packing::LoadSlab(source_, s_.source_, shape, scratch.lines, scratch.slab + shape.panel);
    const int64_t lanes = base::RoundUp(shape.channels, kernels::kWinogradLanes);
    for (int64_t window = 0; window < s_.windows(box.count); ++window) {
      transforms[scratch.window_kinds[window]](scratch.slab, scratch.window_offsets + window * t_.window(), lanes,
                                               windows + window * s_.padded_sources_ + c, s_.window_step());
    }
  }
}

void DataBoxes::TransformBack(int64_t panel, int64_t phase, const Box& box, const PointSums& sums,
                              const DataScratch& scratch) const {
  const int64_t lanes = s_.panels_.tiles(panel, 0).lanes;
  std::array<kernels::WinogradOutFn, Tiling::kKinds> transforms;
  for (int kind = 0; kind < Tiling::kKinds; ++kind) transforms[kind] = t_.result_out(kind);
  const int64_t* offsets = scratch.tile_offsets + phase * box.positions() * t_.tile();
  for (int64_t tile = 0; tile < box.positions(); ++tile, offsets += t_.tile()) {
    transforms[scratch.tile_kinds[tile]](sums.first + tile * sums.tile_step, sums.point_step, lanes, scratch.tiles,
                                         offsets);
  }
}

bool DataBoxes::FinishPanel(int64_t group, int64_t panel, const Box& box, const DataScratch& scratch) const {
  const int64_t lanes = s_.panels_.tiles(panel, 0).lanes;
  const int64_t positions = box.count[0] * Results(box, 0) * Results(box, 1) * Results(box, 2);
  float* results = scratch.tiles + lanes;
  const int64_t first = group * s_.result_channels_ + s_.panels_.first(panel), channels = s_.panels_.channels(panel);
  const bool finite = !kernels::Lines().any_nonfinite(results, positions * lanes);
  if (p_.has_bias) AddBias(first, channels, positions, lanes, results, scratch.bias);
  Store(first, channels, box, lanes, results, scratch);
  return finite;
}

void DataBoxes::AddBias(int64_t first, int64_t channels, int64_t positions, int64_t lanes, float* results,
                        float* bias) const {
  for (int64_t c = 0; c < channels; ++c) bias[c] = LoadBias(p_, b_, first + c);
  for (int64_t position = 0; position < positions; ++position) {
    for (int64_t c = 0; c < channels; ++c) results[position * lanes + c] += bias[c];
  }
}

void DataBoxes::Store(int64_t first, int64_t channels, const Box& box, int64_t lanes, const float* results,
                      const DataScratch& scratch) const {
  const auto& strides = s_.result_.strides;
  // Whole rows that follow one another in memory are one line.
  int64_t rows = Results(box, 1), row = Results(box, 2);
  if (strides[3] == row * strides[4]) {
    row *= rows;
    rows = 1;
  }
  int64_t origin = first * strides[1] + box.first[0] * strides[0];
  for (int axis = 0; axis < 3; ++axis) origin += s_.Results(box, axis).begin * strides[2 + axis];
  for (int64_t n = 0; n < box.count[0]; ++n) {
    ForEach({Results(box, 0), rows, 1}, [&](int64_t d, int64_t h, int64_t) {
      const int64_t offset = origin + n * strides[0] + d * strides[2] + h * strides[3];
      packing::StoreLines(result_, offset, {channels, row, lanes, strides[1], strides[4], s_.streamed_}, scratch.lines,
                          results);
      results += row * lanes;
    });
  }
  if (s_.streamed_ != StreamedRows::kNone) kernels::FinishStreams();
}

}  // namespace canopy::conv::winograd
