// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "conv/channel_lanes/store.h"
#include "conv/winograd/weights_step.h"
#include "exec/pool.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::winograd {
namespace {

using base::CeilDiv;
using channel_lanes::SlabShape;

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, char* room)
      : s_(step),
        cut_(step.cut_),
        p_(problem),
        input_(buffers.input, p_.input.dtype, p_.rule),
        output_(buffers.output, p_.output.dtype, p_.rule),
        result_(buffers.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        sums_(reinterpret_cast<float*>(room + s_.room_.sums)),
        shared_(room + s_.room_.shared),
        scratch_(room + s_.room_.scratch),
        nonfinite_(new (room + s_.room_.flag) std::atomic<int>(0)) {}

  // False: some result is not finite.
  bool Run() const {
    cut_.apart ? RunApart() : RunTogether();
    return nonfinite_->load(std::memory_order_relaxed) == 0;
  }

 private:
  struct Block {
    int64_t index, group, first_input, inputs;  // channels of the group
    int64_t lanes;                              // number of its lane block
  };
  // Bands [begin, end).
  struct Chunk {
    int64_t begin, end, first_tile, tiles;
  };
  // Where a block is worked on: by one thread, or by all.
  struct Desk {
    WeightsTiles tiles;
    float* sums;  // of a block; nullptr: one turn is all
    bool stores;  // what the last turn leaves is the result
    int worker;   // or kEveryone
  };
  static constexpr int kEveryone = -1;

  bool serial() const { return cut_.work < kSerialWork; }
  char* ScratchOf(int worker) const { return scratch_ + worker * s_.room_.scratch_bytes; }
  WeightsScratch Scratch(int worker) const { return s_.ScratchAt(cut_, ScratchOf(worker), nullptr); }

  template <class F>
  void Each(const Desk& desk, int64_t jobs, const F& job) const {
    if (desk.worker == kEveryone) return exec::ParallelFor(jobs, serial(), job);
    for (int64_t index = 0; index < jobs; ++index) job(index, desk.worker);
  }

  Block BlockAt(int64_t index) const {
    const int64_t lane_blocks = cut_.lanes.blocks(), input_blocks = s_.InputBlocks(cut_);
    Block block;
    block.index = index;
    block.lanes = index % lane_blocks;
    block.first_input = index / lane_blocks % input_blocks * cut_.block_inputs();
    block.inputs = std::min(cut_.block_inputs(), s_.input_channels_ - block.first_input);
    block.group = index / (lane_blocks * input_blocks);
    return block;
  }

  // Block after block.
  void RunTogether() const {
    const Desk desk{s_.TilesAt(cut_, shared_, nullptr), s_.Deep(cut_) ? sums_ : nullptr, true, kEveryone};
    for (int64_t index = 0; index < s_.Blocks(cut_); ++index) RunChunks(BlockAt(index), 0, cut_.chunks, desk);
  }

  // Blocks and segments of chunks side by side.
  void RunApart() const {
    const int64_t segments = cut_.segments;
    exec::ParallelFor(s_.Blocks(cut_) * segments, serial(), [&](int64_t index, int worker) {
      const WeightsScratch scratch = Scratch(worker);
      const int64_t begin = index % segments * cut_.segment_chunks;
      float* sums = segments > 1 ? sums_ + index * cut_.sums_floats() : s_.Deep(cut_) ? scratch.sums : nullptr;
      RunChunks(BlockAt(index / segments), begin, std::min(cut_.chunks, begin + cut_.segment_chunks),
                {scratch.tiles, sums, segments == 1, worker});
    });
    if (segments == 1) return;
    const int64_t pieces = CeilDiv(cut_.block_inputs(), kStoreRows) * cut_.output_panels();
    exec::ParallelFor(s_.Blocks(cut_) * pieces, serial(), [&](int64_t index, int worker) {
      const Block block = BlockAt(index / pieces);
      const int64_t first_input = index % pieces / cut_.output_panels() * kStoreRows;
      const int64_t output_panel = index % cut_.output_panels();
      if (first_input >= block.inputs || output_panel >= cut_.lanes.panels(block.lanes)) return;
      Reduce(block, first_input, output_panel, Scratch(worker));
    });
  }

  // The fixed order of the sum over segments.
  void Reduce(const Block& block, int64_t first_input, int64_t output_panel, const WeightsScratch& scratch) const {
    const int64_t rows = std::min(kStoreRows, block.inputs - first_input);
    float* sum = sums_ + block.index * cut_.segments * cut_.sums_floats() + SumsOffset(first_input, output_panel);
    for (int64_t segment = 1; segment < cut_.segments; ++segment) {
      kernels::Lines().add(sum + segment * cut_.sums_floats(), rows * kTaps * cut_.row_lanes(), sum);
    }
    Store(block, first_input, rows, output_panel, sum, scratch);
  }

  int64_t InputPanels(const Block& block) const { return CeilDiv(block.inputs, cut_.inputs_panel); }
  float* OutputsOf(const Block& block, const Desk& desk, int64_t panel) const {
    const int64_t kept = cut_.all_outputs ? block.lanes : 0;
    return desk.tiles.outputs + (kept * cut_.output_panels() + panel) * cut_.outputs_floats();
  }
  float* ProductsOf(const Desk& desk, int64_t input_panel, int64_t output_panel) const {
    return desk.tiles.products + (input_panel * cut_.output_panels() + output_panel) * cut_.products_floats();
  }
  int64_t SumsOffset(int64_t first_input, int64_t output_panel) const {
    const int64_t panel = first_input / cut_.inputs_panel * cut_.output_panels() + output_panel;
    return panel * cut_.taps_floats() + first_input % cut_.inputs_panel * kTaps * cut_.row_lanes();
  }

  // Chunks [begin, end).
  void RunChunks(const Block& block, int64_t begin, int64_t end, const Desk& desk) const {
    for (int64_t index = begin; index < end; ++index) {
      Chunk chunk;
      chunk.begin = index * cut_.chunk_bands;
      chunk.end = std::min(cut_.bands.count(), chunk.begin + cut_.chunk_bands);
      chunk.first_tile = cut_.bands.At(chunk.begin).before;
      chunk.tiles = cut_.bands.At(chunk.end).before - chunk.first_tile;
      const int64_t turn = cut_.turn_chunks(), done = index - begin;
      Transform(block, chunk, desk);
      Multiply(block, chunk, desk, done % turn != 0);
      const bool last = index + 1 == end;
      if (last || (done + 1) % turn == 0) Finish(block, desk, done < turn, last && desk.stores);
    }
  }

  // A panel of one of the tensors under a band of tiles.
  struct Piece {
    bool inputs;  // else outputs
    int64_t panel;
    TileBand band;
    int64_t tile;                     // pixels a side
    int64_t first_row, first_column;  // of the band's first tile
    SlabShape slab;
  };

  // Which panels of a block wait to be transformed: what the blocks before left there is not transformed again.
  struct Panels {
    int64_t inputs, outputs;
    int64_t all() const { return inputs + outputs; }
  };

  Panels PanelsOf(const Block& block) const {
    const bool all = cut_.apart || cut_.chunks > 1;
    const bool inputs = all || block.lanes == 0;
    const bool outputs = all || block.first_input == 0 || (!cut_.all_outputs && cut_.lanes.blocks() > 1);
    return {inputs ? InputPanels(block) : 0, outputs ? cut_.lanes.panels(block.lanes) : 0};
  }

  void Transform(const Block& block, const Chunk& chunk, const Desk& desk) const {
    const Panels panels = PanelsOf(block);
    const int64_t first = chunk.begin * panels.all();
    Each(desk, (chunk.end - chunk.begin) * panels.all(), [&](int64_t index, int worker) {
      TransformPiece(block, chunk, PieceAt(block, panels, first + index), desk, Scratch(worker));
    });
  }

  Piece PieceAt(const Block& block, const Panels& panels, int64_t index) const {
    const Geometry& g = p_.geometry;
    Piece piece;
    piece.band = cut_.bands.At(index / panels.all());
    piece.panel = index % panels.all();
    piece.inputs = piece.panel < panels.inputs;
    piece.tile = piece.inputs ? kWindow : kTile;
    piece.first_row = piece.band.first_row * kTile - (piece.inputs ? g.pad_begin[1] : 0);
    piece.first_column = piece.band.first_column * kTile - (piece.inputs ? g.pad_begin[2] : 0);
    SlabShape& slab = piece.slab;
    if (piece.inputs) {
      const int64_t channel = piece.panel * cut_.inputs_panel;
      slab.panel = cut_.inputs_panel;
      slab.first_channel = block.group * s_.input_channels_ + block.first_input + channel;
      slab.channels = std::min(cut_.inputs_panel, block.inputs - channel);
    } else {
      piece.panel -= panels.inputs;
      const int64_t lanes = cut_.lanes.panel_lanes(), channel = piece.panel * lanes;
      slab.panel = cut_.row_lanes();
      slab.first_channel = block.group * s_.output_channels_ + cut_.lanes.first(block.lanes) + channel;
      slab.channels = std::min(lanes, cut_.lanes.channels(block.lanes) - channel);
    }
    const Extent3& size = piece.inputs ? g.input_size : g.output_size;
    const int64_t over = piece.tile - kTile;
    slab.first_image = piece.band.image / size[0];
    slab.images = 1;
    slab.axes[0] = {piece.band.image % size[0], 1, 1};
    // Of the input, only what some output reaches: a tap that never meets any then has a gradient of exactly 0.
    const int64_t rows = std::min(piece.band.rows * kTile, g.output_size[1] - piece.band.first_row * kTile);
    const int64_t columns = std::min(piece.band.columns * kTile, g.output_size[2] - piece.band.first_column * kTile);
    slab.axes[1] = Range(piece.first_row, rows + over, size[1]);
    slab.axes[2] = Range(piece.first_column, columns + over, size[2]);
    return piece;
  }

  // The range of [0, size) in [begin, begin + count).
  static channel_lanes::AxisRange Range(int64_t begin, int64_t count, int64_t size) {
    const int64_t low = std::clamp<int64_t>(begin, 0, size), high = std::clamp<int64_t>(begin + count, low, size);
    return {low, 1, high - low};
  }

  void TransformPiece(const Block& block, const Chunk& chunk, const Piece& piece, const Desk& desk,
                      const WeightsScratch& scratch) const {
    const int64_t row_floats = piece.slab.panel, zeros = piece.slab.PanelFloats();
    LoadSlab(piece.inputs ? input_ : output_, piece.inputs ? p_.input : p_.output, piece.slab, scratch.lines,
             scratch.slab);
    std::memset(scratch.slab + zeros, 0, static_cast<size_t>(row_floats) * sizeof(float));
    const auto transform = piece.inputs ? kernels::Winograd(2).input : kernels::Winograd(2).gradient;
    float* to =
        piece.inputs ? desk.tiles.inputs + piece.panel * cut_.inputs_floats() : OutputsOf(block, desk, piece.panel);
    to += (piece.band.before - chunk.first_tile) * row_floats;
    for (int64_t tile = 0; tile < piece.band.tiles(); ++tile) {
      ListPixels(piece, tile / piece.band.columns, tile % piece.band.columns, scratch.offsets);
      transform(scratch.slab, scratch.offsets, row_floats, to, cut_.point_rows() * row_floats);
      to += row_floats;
    }
  }

  // Where the pixels of the band's tile at (row, column) are in the slab; those of the padding are the zeros behind it.
  static void ListPixels(const Piece& piece, int64_t row, int64_t column, int64_t* offsets) {
    const SlabShape& slab = piece.slab;
    for (int64_t h = 0; h < piece.tile; ++h) {
      const int64_t slab_row = piece.first_row + row * kTile + h - slab.axes[1].begin;
      const bool there = slab_row >= 0 && slab_row < slab.axes[1].count;
      for (int64_t w = 0; w < piece.tile; ++w) {
        const int64_t slab_column = piece.first_column + column * kTile + w - slab.axes[2].begin;
        const bool pixel = there && slab_column >= 0 && slab_column < slab.axes[2].count;
        *offsets++ = pixel ? slab.Pixel(0, slab_row, slab_column) * slab.panel : slab.PanelFloats();
      }
    }
  }

  void Multiply(const Block& block, const Chunk& chunk, const Desk& desk, bool accumulate) const {
    const int64_t input_panels = InputPanels(block), output_panels = cut_.lanes.panels(block.lanes);
    const int64_t pairs = input_panels * output_panels;
    Each(desk, kPoints * pairs, [&](int64_t index, int) {
      MultiplyPoint(block, chunk, desk, index / pairs, index % pairs / output_panels, index % output_panels,
                    accumulate);
    });
  }

  void MultiplyPoint(const Block& block, const Chunk& chunk, const Desk& desk, int64_t point, int64_t input_panel,
                     int64_t output_panel, bool accumulate) const {
    const kernels::GatherTiles& tiles = cut_.lanes.tiles(block.lanes, output_panel);
    const int64_t lanes = cut_.row_lanes();
    const int64_t rows = std::min(cut_.inputs_panel, block.inputs - input_panel * cut_.inputs_panel);
    const float* a =
        desk.tiles.inputs + input_panel * cut_.inputs_floats() + point * cut_.point_rows() * cut_.inputs_panel;
    const float* b = OutputsOf(block, desk, output_panel) + point * cut_.point_rows() * lanes;
    float* products = ProductsOf(desk, input_panel, output_panel) + point * cut_.product_step();
    int64_t result_offsets[kernels::GatherTiles::kMostRows];
    for (int64_t r = 0; r < kernels::GatherTiles::kMostRows; ++r) result_offsets[r] = r * lanes;
    kernels::GatherRun run{};
    kernels::GatherOperands operands{};
    operands.runs = &run;
    operands.run_count = 1;
    operands.a_step = cut_.inputs_panel;
    operands.b_step = lanes;
    operands.result_offsets = result_offsets;
    operands.ahead = b;
    // Sums and calls alike in length.
    const int64_t sums = CeilDiv(chunk.tiles, kTilesASum), calls = CeilDiv(rows, tiles.most_rows);
    for (int64_t sum = 0, tile = 0; sum < sums; ++sum, tile += run.terms) {
      run.terms = (chunk.tiles - tile) / (sums - sum);
      operands.b = b + tile * lanes;
      for (int64_t call = 0, row = 0; call < calls; ++call) {
        const int64_t count = (rows - row) / (calls - call);
        operands.a = a + tile * cut_.inputs_panel + row;
        operands.c = products + row * lanes;
        tiles.adjacent[count](operands, accumulate || sum > 0);
        row += count;
      }
    }
  }

  // Transforms the products back and adds them to the sums, or stores.
  void Finish(const Block& block, const Desk& desk, bool first, bool store) const {
    const int64_t output_panels = cut_.lanes.panels(block.lanes);
    const int64_t pieces = CeilDiv(block.inputs, kStoreRows);
    Each(desk, pieces * output_panels, [&](int64_t index, int worker) {
      FinishPiece(block, desk, index / output_panels * kStoreRows, index % output_panels, first, store,
                  Scratch(worker));
    });
  }

  void FinishPiece(const Block& block, const Desk& desk, int64_t first_input, int64_t output_panel, bool first,
                   bool store, const WeightsScratch& scratch) const {
    const int64_t lanes = cut_.row_lanes(), rows = std::min(kStoreRows, block.inputs - first_input);
    const int64_t input_panel = first_input / cut_.inputs_panel, row = first_input % cut_.inputs_panel;
    const float* products = ProductsOf(desk, input_panel, output_panel) + row * lanes;
    int64_t offsets[kTaps];
    for (int64_t tap = 0; tap < kTaps; ++tap) offsets[tap] = tap * lanes;
    for (int64_t r = 0; r < rows; ++r) {
      kernels::Winograd(2).weight_result(products + r * lanes, cut_.product_step(), lanes,
                                         scratch.taps + r * kTaps * lanes, offsets);
    }
    float* taps = scratch.taps;
    if (desk.sums != nullptr) {
      float* sums = desk.sums + SumsOffset(first_input, output_panel);
      const int64_t floats = rows * kTaps * lanes;
      if (first) {
        std::memcpy(sums, taps, static_cast<size_t>(floats) * sizeof(float));
      } else {
        kernels::Lines().add(taps, floats, sums);
      }
      taps = sums;
    }
    if (store) Store(block, first_input, rows, output_panel, taps, scratch);
  }

  // Whether one of the first `count` floats of a row is; what follows belongs to no channel.
  static bool AnyNonfinite(const float* floats, int64_t rows, int64_t step, int64_t count) {
    if (count == step) return kernels::Lines().any_nonfinite(floats, rows * step);
    for (int64_t row = 0; row < rows; ++row) {
      if (kernels::Lines().any_nonfinite(floats + row * step, count)) return true;
    }
    return false;
  }

  void Store(const Block& block, int64_t first_input, int64_t inputs, int64_t output_panel, const float* taps,
             const WeightsScratch& scratch) const {
    const auto& strides = p_.weight_result.strides;
    const int64_t lanes = cut_.row_lanes(), channel = output_panel * cut_.lanes.panel_lanes();
    const int64_t channels = std::min(cut_.lanes.panel_lanes(), cut_.lanes.channels(block.lanes) - channel);
    if (AnyNonfinite(taps, inputs * kTaps, lanes, channels)) {
      nonfinite_->store(1, std::memory_order_relaxed);
      return;
    }
    const int64_t offset = (block.group * s_.output_channels_ + cut_.lanes.first(block.lanes) + channel) * strides[0] +
                           (block.first_input + first_input) * strides[1];
    const bool plain = strides[4] == 1 && strides[3] == kKernel && strides[1] == kTaps;
    if (plain) {  // input channels and taps are one line
      StoreLines(result_, offset, {channels, inputs * kTaps, lanes, strides[0], 1}, scratch.lines, taps);
      return;
    }
    for (int64_t tap = 0; tap < kTaps; ++tap) {
      StoreLines(result_, offset + tap / kKernel * strides[3] + tap % kKernel * strides[4],
                 {channels, inputs, kTaps * lanes, strides[0], strides[1]}, scratch.lines, taps + tap * lanes);
    }
  }

  const WeightsStep& s_;
  const WeightsStep::Cut& cut_;
  const ConvProblem& p_;
  LineReader input_, output_;
  LineWriter result_;
  float* sums_;
  char* shared_;
  char* scratch_;
  std::atomic<int>* nonfinite_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  char* room = static_cast<char*>(ledger.Fetch(workspace, room_handle_));
  if (!WeightsRun(*this, problem, buffers, room).Run()) direct_.Run(problem, buffers, direct_ledger_, room);
}

}  // namespace canopy::conv::winograd
