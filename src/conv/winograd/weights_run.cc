// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <new>

#include "conv/bias_sums.h"
#include "conv/packing/asks.h"
#include "conv/packing/row_panels.h"
#include "conv/packing/store.h"
#include "conv/winograd/weights_lister.h"
#include "conv/winograd/weights_pieces.h"
#include "conv/winograd/weights_step.h"
#include "exec/pool.h"
#include "exec/shares.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::winograd {
namespace {

using base::CeilDiv;

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers,
             const plan::WorkspaceLedger& ledger, void* workspace)
      : s_(step),
        cut_(step.cut_),
        p_(problem),
        b_(buffers),
        biases_(s_.bias_ ? static_cast<double*>(ledger.Fetch(workspace, s_.biases_handle_)) : nullptr),
        pieces_(step, problem, buffers, biases_),
        lister_(step),
        result_(buffers.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        sums_(s_.sums_handle_ >= 0 ? static_cast<float*>(ledger.Fetch(workspace, s_.sums_handle_)) : nullptr),
        shared_(cut_.apart ? nullptr : static_cast<char*>(ledger.Fetch(workspace, s_.shared_handle_))),
        scratch_(ledger.FetchEach(workspace, s_.scratch_handle_)),
        losses_(new (ledger.Fetch(workspace, s_.losses_handle_)) split_gemm::Losses) {}

  // False: some result is not finite, or not what parts can express.
  bool Run() const {
    for (int worker = 0; worker < exec::ThreadCount(); ++worker) {
      const WeightsScratch scratch = Scratch(worker);
      *scratch.listed = {};
      if (cut_.apart) *scratch.tiles.listed = kNoChunk;
    }
    if (biases_ != nullptr) std::fill_n(biases_, s_.BiasSlots(cut_) * p_.geometry.output_channels, 0.0);
    cut_.apart ? RunApart() : RunTogether();
    if (biases_ != nullptr) StoreBiasSums(p_, b_, s_.BiasSlots(cut_), 1, serial(), biases_);
    return losses_->None();
  }

 private:
  // Where a block is worked on: by one thread, or by all.
  struct Desk {
    WeightsTiles tiles;
    float* sums;  // of a block; nullptr: one turn is all
    bool stores;  // what the last turn leaves is the result
    int worker;   // or kEveryone
  };
  static constexpr int kEveryone = -1;
  static constexpr int64_t kNoChunk = -1;

  bool serial() const { return cut_.work < kSerialWork; }
  char* ScratchOf(int worker) const { return scratch_.Of(worker); }
  WeightsScratch Scratch(int worker) const { return s_.ScratchAt(cut_, ScratchOf(worker), nullptr); }

  int64_t ThreadsAt(const Desk& desk) const { return desk.worker == kEveryone && !serial() ? exec::ThreadCount() : 1; }

  template <class F>
  void Each(const Desk& desk, int64_t jobs, const F& job) const {
    if (desk.worker == kEveryone) return exec::ParallelFor(jobs, serial(), job);
    for (int64_t index = 0; index < jobs; ++index) job(index, desk.worker);
  }

  WeightsBlock BlockAt(int64_t index) const {
    const int64_t lane_blocks = cut_.lanes.blocks(), input_blocks = s_.InputBlocks(cut_);
    WeightsBlock block;
    block.index = index;
    block.lanes = index % lane_blocks;
    block.first_input = index / lane_blocks % input_blocks * cut_.block_inputs();
    block.inputs = std::min(cut_.block_inputs(), s_.input_channels_ - block.first_input);
    block.group = index / (lane_blocks * input_blocks);
    return block;
  }

  // Block after block.
  void RunTogether() const {
    const Desk desk{s_.TilesAt(cut_, shared_, nullptr), cut_.deep() ? sums_ : nullptr, true, kEveryone};
    *desk.tiles.listed = kNoChunk;
    for (int64_t index = 0; index < s_.Blocks(cut_); ++index) RunChunks(BlockAt(index), 0, cut_.chunks, desk);
  }

  // Blocks and segments of chunks side by side.
  void RunApart() const {
    const int64_t segments = cut_.segments;
    exec::ParallelFor(s_.Blocks(cut_) * segments, serial(), [&](int64_t index, int worker) {
      const WeightsScratch scratch = Scratch(worker);
      const int64_t begin = index % segments * cut_.segment_chunks;
      float* sums = segments > 1 ? sums_ + index * cut_.sums_floats() : cut_.deep() ? scratch.sums : nullptr;
      RunChunks(BlockAt(index / segments), begin, std::min(cut_.chunks, begin + cut_.segment_chunks),
                {scratch.tiles, sums, segments == 1, worker});
    });
    if (segments == 1) return;
    const int64_t pieces = CeilDiv(cut_.block_inputs(), kStoreRows) * cut_.output_panels();
    exec::ParallelFor(s_.Blocks(cut_) * pieces, serial(), [&](int64_t index, int worker) {
      const WeightsBlock block = BlockAt(index / pieces);
      const int64_t first_input = index % pieces / cut_.output_panels() * kStoreRows;
      const int64_t output_panel = index % cut_.output_panels();
      if (first_input >= block.inputs || output_panel >= cut_.lanes.panels(block.lanes)) return;
      Reduce(block, first_input, output_panel, Scratch(worker));
    });
  }

  // The fixed order of the sum over segments.
  void Reduce(const WeightsBlock& block, int64_t first_input, int64_t output_panel,
              const WeightsScratch& scratch) const {
    const int64_t rows = std::min(kStoreRows, block.inputs - first_input);
    float* sum = sums_ + block.index * cut_.segments * cut_.sums_floats() + SumsOffset(first_input, output_panel);
    for (int64_t segment = 1; segment < cut_.segments; ++segment) {
      kernels::Lines().add(sum + segment * cut_.sums_floats(), rows * TapRow(), sum);
    }
    Store(block, first_input, rows, output_panel, sum, scratch);
  }

  int64_t InputPanels(const WeightsBlock& block) const { return CeilDiv(block.inputs, cut_.inputs_panel); }
  int64_t TapRow() const { return cut_.shape.all_taps() * cut_.row_lanes(); }  // floats of an input channel
  float* ProductsOf(const Desk& desk, int64_t depth, int64_t part, int64_t input_panel, int64_t output_panel) const {
    const int64_t pair = input_panel * cut_.output_panels() + output_panel;
    return desk.tiles.products +
           ((depth * cut_.shape.parts() + part) * cut_.block_products() + pair) * cut_.products_floats();
  }
  int64_t SumsOffset(int64_t first_input, int64_t output_panel) const {
    const int64_t panel = first_input / cut_.inputs_panel * cut_.output_panels() + output_panel;
    return panel * cut_.taps_floats() + first_input % cut_.inputs_panel * TapRow();
  }

  // Chunks [begin, end).
  void RunChunks(const WeightsBlock& block, int64_t begin, int64_t end, const Desk& desk) const {
    const WaitingPanels panels = PanelsOf(block);
    for (int64_t index = begin; index < end; ++index) {
      WeightsChunk chunk;
      chunk.begin = index * cut_.chunk_bands;
      chunk.end = std::min(cut_.bands.count(), chunk.begin + cut_.chunk_bands);
      const int64_t turn = cut_.turn_chunks(), done = index - begin;
      Each(desk, pieces_.Count(chunk, panels), [&](int64_t piece, int worker) {
        pieces_.Transform(block, chunk, panels, ThreadsAt(desk), piece, desk.tiles, Scratch(worker));
      });
      if (*desk.tiles.listed != index) lister_.List(chunk, desk.tiles);
      *desk.tiles.listed = index;
      Multiply(block, desk, done % turn != 0);
      const bool last = index + 1 == end;
      if (last || (done + 1) % turn == 0) Finish(block, desk, done < turn, last && desk.stores);
    }
  }

  WaitingPanels PanelsOf(const WeightsBlock& block) const {
    const bool all = cut_.apart || cut_.chunks > 1;
    const bool inputs = all || block.lanes == 0;
    const bool outputs = all || block.first_input == 0 || (!cut_.all_outputs && cut_.lanes.blocks() > 1);
    return {inputs ? InputPanels(block) : 0, outputs ? cut_.lanes.panels(block.lanes) : 0};
  }

  void Multiply(const WeightsBlock& block, const Desk& desk, bool accumulate) const {
    if (s_.in_parts()) return MultiplyInParts(block, desk, accumulate);
    const int64_t input_panels = InputPanels(block), points = cut_.shape.points();
    const int64_t parts = cut_.shape.parts(), products = cut_.shape.products();
    const int64_t column = points * input_panels * products;  // jobs of an output panel
    const exec::Shares columns(cut_.lanes.panels(block.lanes), cut_.by_panels() ? ThreadsAt(desk) : 1);
    const int64_t jobs = column * cut_.lanes.panels(block.lanes);
    // Point by point, of one share of the output panels after another.
    const auto at = [&](int64_t index) -> Product {
      const int64_t share = columns.Of(index / column), begin = columns.Begin(share), width = columns.Size(share);
      index -= begin * column;
      const int64_t pair = index / products % (input_panels * width);
      return {index / products / (input_panels * width), index % products / parts, index % parts, pair / width,
              begin + pair % width};
    };
    Each(desk, jobs, [&](int64_t index, int) {
      const Product product = at(index);
      if (!cut_.shape.Needs(cut_.shape.PartAt(product.part), product.point)) return;
      MultiplyPoint(block, desk, product, at(std::min(index + 1, jobs - 1)), accumulate);
    });
  }

  struct Product {
    int64_t point, depth, part, input_panel, output_panel;
  };

  struct ProductPlaces {
    const float *inputs, *outputs;
    float* products;
  };
  ProductPlaces PlacesOf(const WeightsBlock& block, const Desk& desk, const Product& product) const {
    return {desk.tiles.inputs + (product.part * cut_.input_panels + product.input_panel) * cut_.inputs_floats() +
                product.point * cut_.input_rows() * cut_.inputs_panel,
            desk.tiles.outputs + cut_.outputs_at(block.lanes, product.output_panel) +
                product.point * cut_.output_rows() * cut_.row_lanes(),
            ProductsOf(desk, product.depth, product.part, product.input_panel, product.output_panel) +
                product.point * cut_.product_step()};
  }

  // A block's tiles and products stay in the L3 at best: what the coming product does not share is asked for.
  packing::StretchAsks AsksFor(const ProductPlaces& coming, const ProductPlaces& now) const {
    constexpr int64_t kBytes = sizeof(float);
    packing::StretchAsks asks;
    if (coming.inputs != now.inputs) asks.Add(coming.inputs, cut_.input_rows() * cut_.inputs_panel * kBytes);
    if (coming.outputs != now.outputs) asks.Add(coming.outputs, cut_.output_rows() * cut_.row_lanes() * kBytes);
    if (coming.products != now.products) asks.Add(coming.products, cut_.product_step() * kBytes);
    return asks;
  }

  void MultiplyPoint(const WeightsBlock& block, const Desk& desk, const Product& product, const Product& coming,
                     bool accumulate) const {
    const kernels::GatherTiles& tiles = cut_.lanes.tiles(block.lanes, product.output_panel);
    const int64_t lanes = cut_.row_lanes(), vectors = tiles.lanes / cut_.lanes.vector_lanes();
    const int64_t rows = std::min(cut_.inputs_panel, block.inputs - product.input_panel * cut_.inputs_panel);
    const ProductPlaces places = PlacesOf(block, desk, product);
    const packing::StretchAsks asks = AsksFor(PlacesOf(block, desk, coming), places);
    int64_t result_offsets[kernels::GatherTiles::kMostRows];
    for (int64_t r = 0; r < kernels::GatherTiles::kMostRows; ++r) result_offsets[r] = r * lanes;
    kernels::GatherOperands operands{};
    operands.a_step = cut_.inputs_panel;
    operands.b = places.outputs;
    operands.b_step = lanes;
    operands.result_offsets = result_offsets;
    const int64_t list = product.depth * WeightsShape::kKinds + cut_.shape.KindsWithout(product.point);
    const TileSum* sums = desk.tiles.sums + list * cut_.most_sums();
    const packing::RowPanels panels(rows, tiles.most_rows);
    const int64_t calls = panels.count(), all_calls = desk.tiles.sum_counts[list] * calls;
    for (int64_t sum = 0; sum < desk.tiles.sum_counts[list]; ++sum) {
      operands.runs = desk.tiles.runs + list * cut_.most_runs() + sums[sum].first;
      operands.run_count = sums[sum].count;
      for (int64_t p = 0; p < calls; p += operands.panels) {
        const int64_t row = panels.first(p), count = panels.rows(p);
        operands.panels = panels.Alike(p);
        operands.a_panel = count;
        operands.c_panel = count * lanes;
        operands.a = places.inputs + row;
        operands.c = places.products + row * lanes;
        asks.Assign(sum * calls + p, all_calls, sums[sum].terms, vectors, &operands);
        tiles.adjacent[count](operands, accumulate || sum > 0);
      }
    }
  }

  // All panels of a point, depth and part together.
  void MultiplyInParts(const WeightsBlock& block, const Desk& desk, bool accumulate) const {
    const int64_t products = cut_.shape.products();
    Each(desk, cut_.shape.points() * products, [&](int64_t index, int worker) {
      const Product first{index / products, index % products / cut_.shape.parts(), index % cut_.shape.parts(), 0, 0};
      if (!cut_.shape.Needs(cut_.shape.PartAt(first.part), first.point)) return;
      const ProductPlaces places = PlacesOf(block, desk, first);
      const int64_t list = first.depth * WeightsShape::kKinds + cut_.shape.KindsWithout(first.point);
      const TileSum& last = desk.tiles.sums[list * cut_.most_sums() + desk.tiles.sum_counts[list] - 1];
      winograd::MultiplyInParts(
          {{places.inputs, cut_.inputs_floats(), block.inputs, cut_.inputs_panel, cut_.inputs_panel},
           {places.outputs, cut_.outputs_floats(), cut_.lanes.channels(block.lanes), cut_.lanes.panel_lanes(),
            cut_.row_lanes()},
           desk.tiles.runs + list * cut_.most_runs(),
           last.first + last.count,
           places.products,
           cut_.products_floats(),
           cut_.output_panels() * cut_.products_floats()},
          accumulate, Scratch(worker).parts, losses_);
    });
  }

  // Transforms the products back and adds them to the sums, or stores.
  void Finish(const WeightsBlock& block, const Desk& desk, bool first, bool store) const {
    const int64_t output_panels = cut_.lanes.panels(block.lanes);
    const int64_t pieces = CeilDiv(block.inputs, kStoreRows);
    Each(desk, pieces * output_panels, [&](int64_t index, int worker) {
      FinishPiece(block, desk, index % pieces * kStoreRows, index / pieces, first, store, Scratch(worker));
    });
  }

  void FinishPiece(const WeightsBlock& block, const Desk& desk, int64_t first_input, int64_t output_panel, bool first,
                   bool store, const WeightsScratch& scratch) const {
    const int64_t rows = std::min(kStoreRows, block.inputs - first_input);
    TransformBack(desk, first_input, rows, output_panel, scratch.taps);
    float* taps = scratch.taps;
    if (desk.sums != nullptr) {
      float* sums = desk.sums + SumsOffset(first_input, output_panel);
      const int64_t floats = rows * TapRow();
      if (first) {
        std::memcpy(sums, taps, static_cast<size_t>(floats) * sizeof(float));
      } else {
        kernels::Lines().add(taps, floats, sums);
      }
      taps = sums;
    }
    if (store) Store(block, first_input, rows, output_panel, taps, scratch);
  }

  // From products to taps.
  void TransformBack(const Desk& desk, int64_t first_input, int64_t inputs, int64_t output_panel, float* taps) const {
    const WeightsShape& shape = cut_.shape;
    const int64_t lanes = cut_.row_lanes();
    const int64_t input_panel = first_input / cut_.inputs_panel, row = first_input % cut_.inputs_panel;
    const kernels::WinogradOutFn transform = shape.taps_out();
    const int64_t results = shape.axes == 1 ? shape.side : shape.side * shape.side;
    const int64_t nowhere = kStoreRows * shape.all_taps();
    for (int64_t product = 0; product < shape.products(); ++product) {
      const int64_t depth = product / shape.parts(), part = product % shape.parts();
      const float* products = ProductsOf(desk, depth, part, input_panel, output_panel) + row * lanes;
      constexpr int64_t kNone = -1;
      const Extent3 part_at = shape.PartAt(part);
      int64_t taps_of[WeightsShape::kMostOffsets], offsets[WeightsShape::kMostOffsets];
      for (int64_t i = 0; i < results; ++i) taps_of[i] = shape.TapOf(part_at, i, kNone);
      for (int64_t r = 0; r < inputs; ++r) {
        const int64_t first = r * shape.all_taps() + depth * shape.taps();
        for (int64_t i = 0; i < results; ++i) offsets[i] = (taps_of[i] == kNone ? nowhere - first : taps_of[i]) * lanes;
        transform(products + r * lanes, cut_.product_step(), lanes, taps + first * lanes, offsets);
      }
    }
  }

  // Whether one of the first `count` floats of a row is; what follows belongs to no channel.
  static bool AnyNonfinite(const float* floats, int64_t rows, int64_t step, int64_t count) {
    if (count == step) return kernels::Lines().any_nonfinite(floats, rows * step);
    for (int64_t row = 0; row < rows; ++row) {
      if (kernels::Lines().any_nonfinite(floats + row * step, count)) return true;
    }
    return false;
  }

  void Store(const WeightsBlock& block, int64_t first_input, int64_t inputs, int64_t output_panel, const float* taps,
             const WeightsScratch& scratch) const {
    const auto& strides = p_.weight_result.strides;
    const Extent3& kernel = p_.geometry.kernel;
    const int64_t lanes = cut_.row_lanes(), channel = output_panel * cut_.lanes.panel_lanes();
    const int64_t channels = std::min(cut_.lanes.panel_lanes(), cut_.lanes.channels(block.lanes) - channel);
    const int64_t all_taps = cut_.shape.all_taps();
    if (AnyNonfinite(taps, inputs * all_taps, lanes, channels)) {
      losses_->AddNonfinite();
      return;
    }
    const int64_t offset = (block.group * s_.output_channels_ + cut_.lanes.first(block.lanes) + channel) * strides[0] +
                           (block.first_input + first_input) * strides[1];
    if (TapsAreOneLine()) {
      StoreLines(result_, offset, {channels, inputs * all_taps, lanes, strides[0], 1}, scratch.lines, taps);
      return;
    }
    for (int64_t tap = 0; tap < all_taps; ++tap) {
      const int64_t d = tap / (kernel[1] * kernel[2]), h = tap / kernel[2] % kernel[1], w = tap % kernel[2];
      StoreLines(result_, offset + d * strides[2] + h * strides[3] + w * strides[4],
                 {channels, inputs, all_taps * lanes, strides[0], strides[1]}, scratch.lines, taps + tap * lanes);
    }
  }

  // Whether input channels and their taps follow one another in the tensor.
  bool TapsAreOneLine() const {
    const auto& strides = p_.weight_result.strides;
    const Extent3& kernel = p_.geometry.kernel;
    int64_t next = 1;
    for (int axis = 2; axis >= 0; --axis) {
      if (kernel[axis] > 1 && strides[2 + axis] != next) return false;
      next *= kernel[axis];
    }
    return strides[1] == next;
  }

  const WeightsStep& s_;
  const WeightsCut& cut_;
  const ConvProblem& p_;
  const Buffers& b_;
  double* biases_;  // [band, slice][output channel]
  WeightsPieces pieces_;
  WeightsLister lister_;
  LineWriter result_;
  float* sums_;
  char* shared_;
  plan::Shares scratch_;
  split_gemm::Losses* losses_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  if (!WeightsRun(*this, problem, buffers, ledger, workspace).Run()) direct_.Run(problem, buffers, ledger, workspace);
}

}  // namespace canopy::conv::winograd
