// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/weights_pieces.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "conv/bias_sums.h"
#include "conv/winograd/tile_pixels.h"
#include "exec/shares.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::winograd {

using packing::SlabShape;

namespace {
constexpr int64_t kPixelsASum = 64;  // added up in FP32
}  // namespace

struct WeightsPieces::Piece {
  bool inputs;    // else outputs
  int64_t panel;  // of the block
  int64_t place;  // of its band, in the chunk
  int64_t slice;  // of the band's
  SlabShape slab;
  Extent3 first;  // pixel of the slab with which tile 0 begins
  Extent3 tiles;
  TileKinds kinds;
};

void WeightsPieces::Transform(const WeightsBlock& block, const WeightsChunk& chunk, const WaitingPanels& panels,
                              int64_t threads, int64_t index, const WeightsTiles& tiles,
                              const WeightsScratch& scratch) const {
  Piece piece;
  const int64_t bands = chunk.end - chunk.begin;
  Number(InputCount(chunk, panels), OutputCount(chunk, panels), threads, index, bands, &piece);
  if (!Find(block, cut_.bands.At(chunk.begin + piece.place), &piece)) return;
  const SlabShape& slab = piece.slab;
  LoadSlab(piece.inputs ? input_ : output_, piece.inputs ? p_.input : p_.output, slab, scratch.lines, scratch.slab);
  // Once for all blocks of the output channels.
  if (biases_ != nullptr && !piece.inputs && block.first_input == 0) {
    AddBiases(piece, chunk.begin + piece.place, scratch.slab);
  }
  std::memset(scratch.slab + slab.PanelFloats(), 0, static_cast<size_t>(slab.panel) * sizeof(float));
  const int64_t slice_tiles = piece.tiles[0] * piece.tiles[1] * piece.tiles[2];
  const int64_t band_tiles = piece.inputs ? cut_.band_inputs : cut_.band_outputs;
  const TileRows rows = cut_.RowsAt(piece.place, piece.slice * slice_tiles, band_tiles, bands);
  const int64_t step = (piece.inputs ? cut_.input_rows() : cut_.output_rows()) * slab.panel;
  const int64_t lanes = base::RoundUp(slab.channels, kernels::kWinogradLanes);
  ListPixels(piece, scratch);
  const WeightsShape& shape = cut_.shape;
  const int64_t* offsets = piece.inputs ? scratch.input_offsets : scratch.output_offsets;
  for (int64_t part = 0; part < (piece.inputs ? shape.parts() : 1); ++part) {
    float* to = piece.inputs ? tiles.inputs + (part * cut_.input_panels + piece.panel) * cut_.inputs_floats()
                             : tiles.outputs + cut_.outputs_at(block.lanes, piece.panel);
    to += rows.first * slab.panel;
    for (int kind = 0; kind < WeightsShape::kKinds; ++kind) {
      const kernels::WinogradInFn transform = piece.inputs ? shape.window_in(kind) : shape.outputs_in(kind);
      const int64_t pixels = Pixels(piece, kind);
      for (int64_t tile = 0; tile < piece.kinds[kind].tiles(); ++tile) {
        transform(scratch.slab, offsets, lanes, to, step);
        offsets += pixels;
        to += rows.step * slab.panel;
      }
    }
  }
}

void WeightsPieces::AddBiases(const Piece& piece, int64_t band, const float* slab_at) const {
  const SlabShape& slab = piece.slab;
  const int64_t pixels = slab.PanelFloats() / slab.panel, slot = band * s_.OutputSlots(cut_) + piece.slice;
  double* sums = biases_ + slot * p_.geometry.output_channels + slab.first_channel;
  for (int64_t first = 0; first < pixels; first += kPixelsASum) {
    const int64_t count = std::min(kPixelsASum, pixels - first);
    AddLaneSums(slab_at + first * slab.panel, slab.panel, count, slab.channels, sums);
  }
}

// Of a tile.
int64_t WeightsPieces::Pixels(const Piece& piece, int kind) const {
  const Extent3 extent = piece.inputs ? cut_.shape.WindowOf(kind) : cut_.shape.OutputsOf(kind);
  return extent[0] * extent[1] * extent[2];
}

// Most pieces are alike.
void WeightsPieces::ListPixels(const Piece& piece, const WeightsScratch& scratch) const {
  const SlabShape& slab = piece.slab;
  const WeightsShape& shape = cut_.shape;
  const std::array<int64_t, 12> key = {slab.panel,         slab.axes[0].count,     slab.axes[1].count,
                                       slab.axes[2].count, piece.first[0],         piece.first[1],
                                       piece.first[2],     piece.tiles[0],         piece.tiles[1],
                                       piece.tiles[2],     piece.kinds[0].tiles(), piece.kinds[1].tiles()};
  std::array<int64_t, 12>& listed = piece.inputs ? scratch.listed->inputs : scratch.listed->outputs;
  if (listed == key) return;
  listed = key;
  int64_t* offsets = piece.inputs ? scratch.input_offsets : scratch.output_offsets;
  for (int64_t part = 0; part < (piece.inputs ? shape.parts() : 1); ++part) {
    for (int kind = 0; kind < WeightsShape::kKinds; ++kind) {
      const KindTiles& tiles = piece.kinds[kind];
      const Extent3 dilation = shape.dilation, step = piece.inputs ? shape.InputStep() : dilation;
      TileLattice lattice{piece.first, shape.tile, piece.inputs ? shape.WindowOf(kind) : shape.OutputsOf(kind), step,
                          dilation};
      const Extent3 inputs = piece.inputs ? shape.InputsOf(shape.PartAt(part)) : Extent3{};
      for (int axis = 0; axis < 3; ++axis) {
        lattice.first[axis] = lattice.Begin(axis, tiles.first[axis]) + inputs[axis];
      }
      ListTilePixels(slab, lattice, tiles.count, offsets);
      offsets += tiles.tiles() * Pixels(piece, kind);
    }
  }
}

// Which piece of so many of inputs and of outputs comes at `index`.
void WeightsPieces::Number(int64_t inputs, int64_t outputs, int64_t threads, int64_t index, int64_t bands,
                           Piece* piece) const {
  const exec::Shares of_inputs(inputs, threads), of_outputs(outputs, threads);
  const auto begin = [&](int64_t share) { return of_inputs.Begin(share) + of_outputs.Begin(share); };
  int64_t share = exec::Shares(inputs + outputs, threads).Of(index);
  while (index >= begin(share + 1)) ++share;  // both are rounded down
  index -= begin(share);
  piece->inputs = index < of_inputs.Size(share);
  index += piece->inputs ? of_inputs.Begin(share) : of_outputs.Begin(share) - of_inputs.Size(share);
  const int64_t slots = piece->inputs ? s_.InputSlots(cut_) : s_.OutputSlots(cut_);
  piece->panel = index / (bands * slots);
  piece->place = index / slots % bands;
  piece->slice = index % slots;
}

// False: there is no such piece.
bool WeightsPieces::Find(const WeightsBlock& block, const TileBand& band, Piece* piece) const {
  if (piece->slice >= (piece->inputs ? s_.InputSlices(band) : s_.OutputSlices(band)).count) return false;
  SlabShape& slab = piece->slab;
  if (piece->inputs) {
    const int64_t channel = piece->panel * cut_.inputs_panel;
    slab.panel = cut_.inputs_panel;
    slab.first_channel = block.group * s_.input_channels_ + block.first_input + channel;
    slab.channels = std::min(cut_.inputs_panel, block.inputs - channel);
  } else {
    const int64_t lanes = cut_.lanes.panel_lanes(), channel = piece->panel * lanes;
    slab.panel = cut_.row_lanes();
    slab.first_channel = block.group * s_.output_channels_ + cut_.lanes.first(block.lanes) + channel;
    slab.channels = std::min(lanes, cut_.lanes.channels(block.lanes) - channel);
  }
  slab.first_image = band.image;
  slab.images = 1;
  piece->kinds = s_.KindsOf(band);
  TakePixels(band, piece);
  return true;
}

void WeightsPieces::TakePixels(const TileBand& band, Piece* piece) const {
  const Geometry& g = p_.geometry;
  const WeightsShape& shape = cut_.shape;
  const Extent3& size = piece->inputs ? g.input_size : g.output_size;
  piece->tiles = band.count;
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t first = band.first[axis] * shape.tile[axis];
    // Of the input, only what some output reaches: a tap that never meets any then has a gradient of exactly 0.
    const int64_t outputs = std::min(band.count[axis] * shape.tile[axis], g.output_size[axis] - first);
    const int64_t begin = piece->inputs ? first * shape.stride[axis] - g.pad_begin[axis] : first;
    const int64_t low = std::clamp<int64_t>(begin, 0, size[axis]);
    const int64_t end = begin + (piece->inputs ? shape.Reach(axis, outputs) : outputs);
    const int64_t high = std::clamp<int64_t>(end, low, size[axis]);
    piece->slab.axes[axis] = {low, 1, high - low};
    piece->first[axis] = begin - low;
  }
  if (shape.in_depth()) return;
  const int64_t first = (piece->inputs ? s_.InputSlices(band) : s_.OutputSlices(band)).begin;
  piece->slab.axes[0] = {first + piece->slice, 1, 1};
  piece->first[0] = 0;
  piece->tiles[0] = 1;
}

}  // namespace canopy::conv::winograd
