// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <new>
#include <span>

#include "base/checked_math.h"
#include "conv/elements.h"
#include "conv/kernel_rows.h"
#include "conv/packing/asks.h"
#include "conv/packing/row_panels.h"
#include "conv/row_winograd/data_step.h"
#include "conv/row_winograd/row_reader.h"
#include "conv/row_winograd/windows.h"
#include "conv/sheets/sheet.h"
#include "exec/pool.h"
#include "kernels/row_points/contract.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::row_winograd {

using kernels::kWinogradPoints;

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
          void* workspace)
      : s_(step),
        p_(problem),
        b_(buffers),
        packed_(static_cast<float*>(ledger.Fetch(workspace, s_.packed_handle_))),
        scratch_(ledger.FetchEach(workspace, s_.scratch_handle_)),
        nonfinite_(new (ledger.Fetch(workspace, s_.found_handle_)) std::atomic<int>(0)),
        source_(s_.forward_ ? b_.input : b_.output, s_.source_, p_.rule, s_.source_size_, kWinogradPoints),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        result_(Result(), s_.result_.dtype, p_.rule.saturate),
        result_planes_(Result(), s_.result_, p_.rule.saturate),
        result_form_(kernels::convert::FormWritten(s_.result_.dtype, p_.rule.saturate)) {}

  // Whether every result is finite.
  bool Run() const {
    const bool serial = s_.work_ < kSerialWork;
    const int64_t groups = p_.geometry.groups, parts = base::CeilDiv(s_.lines_.count(), s_.job_lines_);
    for (int worker = 0; worker < exec::ThreadCount(); ++worker) *ScratchOf(worker).cleared = 0;
    exec::ParallelFor(groups, serial, [&](int64_t group, int worker) { PackGroup(group, ScratchOf(worker)); });
    exec::ParallelFor(groups * parts, serial, [&](int64_t index, int worker) {
      const int64_t first = index % parts * s_.job_lines_;
      Job(index / parts, first, std::min(first + s_.job_lines_, s_.lines_.count()), ScratchOf(worker));
    });
    return nonfinite_->load(std::memory_order_relaxed) == 0;
  }

 private:
  // Sources of a chunk of a group.
  struct Chunk {
    int64_t group, first, sources;
  };

  // What is asked for while a chunk is multiplied: rows of channels.
  struct Wanted {
    const char* first;
    int64_t channels, channel_bytes, bytes;  // of a channel's rows
  };

  void* Result() const { return s_.forward_ ? b_.output_result : b_.input_result; }

  DataScratch ScratchOf(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  // packed[point][kernel column][source][result channel], a source being a channel and a kernel depth; or, of columns
  // that are apart, packed[point][source][result channel][kernel column].
  void PackGroup(int64_t group, const DataScratch& scratch) const {
    const Geometry& g = p_.geometry;
    const int64_t outputs = g.group_output_channels(), inputs = g.group_input_channels(), taps = g.taps();
    const int64_t all = s_.group_weights(), used = s_.result_channels_ * s_.weights();
    for (int64_t k = 0; k < s_.taps_; ++k) std::fill(scratch.tile + k * all + used, scratch.tile + (k + 1) * all, 0.0f);
    for (int64_t o = 0; o < outputs; ++o) {
      FetchKernels(weight_, p_, (group * outputs + o) * p_.weight.strides[0], inputs, scratch.kernels);
      for (int64_t i = 0; i < inputs; ++i) {
        PlaceKernel(scratch.kernels + i * taps, s_.forward_ ? o : i, s_.forward_ ? i : o, scratch.tile);
      }
    }
    int64_t offsets[kernels::kMostWinogradKernel];
    for (int64_t k = 0; k < s_.taps_; ++k) offsets[k] = k * all;
    kernels::Winograd(1).kernel[1][s_.taps_](scratch.tile, offsets, all, packed_ + group * kWinogradPoints * all, all);
  }

  // The kernel's rows in the order of the rows that they meet.
  void PlaceKernel(const float* kernel, int64_t result, int64_t source, float* tile) const {
    const Extent3& size = p_.geometry.kernel;
    for (int64_t d = 0; d < size[0]; ++d) {
      for (int64_t h = 0; h < size[1]; ++h) {
        float* to = tile + (s_.forward_ ? h : size[1] - 1 - h) * s_.group_weights();
        for (int64_t w = 0; w < size[2]; ++w) to[WeightAt(source * size[0] + d, result, w)] = *kernel++;
      }
    }
  }

  int64_t WeightAt(int64_t source, int64_t result, int64_t column) const {
    return s_.apart_ ? (source * s_.result_channels_ + result) * s_.columns_.count() + column
                     : (column * s_.sources_ + source) * s_.result_channels_ + result;
  }

  void Job(int64_t group, int64_t first, int64_t end, const DataScratch& scratch) const {
    Clear(scratch);
    for (int64_t line = first; line < end; ++line) {
      const std::span<const SegmentRun> runs = s_.lines_.ListRuns(line, scratch.segments);
      for (int64_t c = 0; c < s_.sources_; c += s_.chunk_) {
        const Chunk chunk{group, c, std::min(s_.chunk_, s_.sources_ - c)};
        if (s_.apart_) {
          MultiplyRows(chunk, runs, scratch);
          continue;
        }
        Load(chunk, runs, scratch);
        const Wanted wanted[] = {WantedAfter(chunk, line, end, runs.front()), WantedFor(group, line, runs.front())};
        Multiply(chunk, s_.lines_.PositionsOf(line), wanted, scratch);
      }
      Store(group, runs, scratch);
    }
  }

  // Once a run: nobody writes where no window is.
  void Clear(const DataScratch& scratch) const {
    if (*scratch.cleared != 0) return;
    *scratch.cleared = 1;
    std::fill_n(scratch.zeros, s_.source_size_[2], 0.0f);
    float* const lines = s_.apart_ ? scratch.results : scratch.windows;
    std::fill_n(lines, kWinogradPoints * (s_.apart_ ? s_.product_rows_ : s_.chunk_) * s_.window_floats_, 0.0f);
    for (int64_t r = 0; r < kernels::GatherTiles::kMostRows; ++r) scratch.result_offsets[r] = r * s_.result_floats_;
    for (int64_t k = 0; k < s_.columns_.count(); ++k) {
      scratch.terms[k] = s_.apart_ ? k * s_.result_floats_ + s_.lines_.left() + s_.columns_[k] : 0;
    }
  }

  // Adds the terms of a chunk whose windows are made on the way.
  void MultiplyRows(const Chunk& chunk, std::span<const SegmentRun> runs, const DataScratch& scratch) const {
    const int64_t depths = s_.depths_.count();
    const float* const packed = packed_ + chunk.group * kWinogradPoints * s_.group_weights();
    kernels::RowProducts call{};
    call.height = s_.source_size_[1];
    call.row_step = s_.source_.strides[3];
    call.tile_rows = s_.tile_;
    call.count = s_.source_size_[2];
    call.pitch = s_.lines_.pitch();
    call.step = s_.product_rows_ * s_.result_floats_;
    call.sources = scratch.sources;
    call.weights_step = s_.group_weights();
    call.result_row = s_.result_floats_;
    call.accumulate = chunk.first > 0;
    for (const SegmentRun& run : runs) {
      call.source_count = 0;
      for (int64_t i = chunk.first; i < chunk.first + chunk.sources; ++i) {
        const int64_t depth = run.depth + s_.depths_[i % depths];
        if (depth < 0 || depth >= s_.source_size_[0]) continue;
        const int64_t channel = chunk.group * s_.source_channels_ + i / depths;
        scratch.sources[call.source_count++] = {source_.Address(run.image, channel, depth, 0),
                                                packed + i * s_.product_rows_};
      }
      call.row = run.row + s_.rows_.least();
      call.tiles = run.tiles;
      call.results = scratch.results + s_.lines_.left() + run.position;
      kernels::AllRowProducts().products[s_.product_rows_][static_cast<int>(source_.form())](call);
    }
  }

  void Load(const Chunk& chunk, std::span<const SegmentRun> runs, const DataScratch& scratch) const {
    LoadWindows(source_, {chunk.group * s_.source_channels_, chunk.first, chunk.sources}, s_.depths_, s_.rows_.least(),
                s_.lines_, runs,
                {scratch.windows + s_.lines_.left(), s_.window_floats_, s_.chunk_ * s_.window_floats_, scratch.rows,
                 scratch.zeros});
  }

  // The rows of the next chunk: of a line that begins with `run`, or behind these.
  Wanted WantedAfter(const Chunk& chunk, int64_t line, int64_t end, const SegmentRun& run) const {
    const int64_t depths = s_.depths_.count();
    const int64_t rows = s_.lines_.SegmentsOf(line) * s_.tile_;
    int64_t next = chunk.first + chunk.sources, row = run.row;
    if (next >= s_.sources_) {
      next = 0;
      if (line + 1 < end) row += rows;
    }
    const int64_t channel = chunk.group * s_.source_channels_ + next / depths;
    const int64_t channels = std::max<int64_t>(1, std::min(s_.chunk_, s_.sources_ - next) / depths);
    return {source_.Address(run.image, channel, run.depth, row), channels, source_.channel_bytes(),
            rows * source_.row_bytes()};
  }

  // Where a line's results are written.
  Wanted WantedFor(int64_t group, int64_t line, const SegmentRun& run) const {
    const int64_t element = numerics::ElementBytes(s_.result_.dtype), row = s_.result_.strides[3];
    const int64_t plane = result_planes_.PlaneAt(run.image, group * s_.result_channels_, run.depth);
    return {result_planes_.Address(plane + run.row * row), s_.result_channels_, s_.result_.strides[1] * element,
            s_.lines_.SegmentsOf(line) * s_.tile_ * row * element};
  }

  // Adds a chunk's terms at all points. Calls ask memory for the rows of each kind that is wanted, in turns: at every
  // point for one channel's.
  void Multiply(const Chunk& chunk, int64_t positions, const Wanted (&wanted)[2], const DataScratch& scratch) const {
    const int64_t runs = s_.columns_.count(), step = s_.product_rows_;
    for (int64_t k = 0; k < runs; ++k) {
      scratch.runs[k] = {(k * s_.sources_ + chunk.first) * step, s_.lines_.left() + s_.columns_[k], chunk.sources};
    }
    kernels::GatherOperands operands{};
    operands.runs = scratch.runs;
    operands.run_count = runs;
    operands.result_offsets = scratch.result_offsets;
    operands.a_step = step;
    operands.b_step = s_.window_floats_;
    operands.panels = kWinogradPoints;
    operands.a_panel = s_.group_weights();
    operands.b_panel = s_.chunk_ * s_.window_floats_;
    operands.c_panel = s_.product_rows_ * s_.result_floats_;
    operands.ahead_step = s_.vectors_ * kernels::kMemoryLine;
    const int64_t lanes = s_.tiles_.vector_lanes, vectors = base::CeilDiv(positions, lanes);
    const int64_t blocks = base::CeilDiv(vectors, int64_t{s_.vectors_}), least = vectors / blocks;
    const int64_t asked = runs * packing::AskTimes(chunk.sources) * operands.ahead_step;  // of a channel, for each ask
    const int64_t asks[] = {base::CeilDiv(wanted[0].bytes, asked), base::CeilDiv(wanted[1].bytes, asked)};
    const packing::RowPanels panels(s_.product_rows_, s_.tiles_.tiles[s_.vectors_ - 1].most_rows);
    const float* const packed = packed_ + chunk.group * kWinogradPoints * s_.group_weights();
    int64_t vector = 0, channels[] = {0, 0}, turn = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t width = least + (block < vectors - blocks * least ? 1 : 0);
      const kernels::GatherTiles& tiles = s_.tiles_.tiles[width - 1];
      operands.b = scratch.windows + vector * lanes;
      for (int64_t p = 0; p < panels.count(); ++p, turn ^= 1) {
        operands.a = packed + panels.first(p);
        operands.c = scratch.results + panels.first(p) * s_.result_floats_ + vector * lanes;
        int64_t& channel = channels[turn];
        operands.asks = channel < wanted[turn].channels ? asks[turn] : 0;
        operands.ahead = wanted[turn].first + channel * wanted[turn].channel_bytes;
        operands.ahead_panel = wanted[turn].channel_bytes;
        channel += kWinogradPoints;
        tiles.adjacent[panels.rows(p)](operands, chunk.first > 0);
      }
      vector += width;
    }
  }

  void Store(int64_t group, std::span<const SegmentRun> runs, const DataScratch& scratch) const {
    const bool direct = result_form_ != kernels::convert::Form::kOther;
    const auto form = direct ? result_form_ : kernels::convert::Form::kFloat32;
    const kernels::PointsToRowsFn transform = kernels::RowPoints().results[s_.taps_][static_cast<int>(form)];
    const auto& strides = s_.result_.strides;
    const int64_t columns = s_.result_size_[2];
    const kernels::Segment whole{0, 0, static_cast<int32_t>(columns)};
    kernels::PointsToRows call{};
    call.tile_rows = s_.tile_;
    call.pitch = s_.lines_.pitch();
    call.step = s_.product_rows_ * s_.result_floats_;
    call.count = columns;
    call.terms = scratch.terms;
    call.term_count = s_.apart_ ? s_.columns_.count() : 1;
    bool finite = true;
    for (int64_t r = 0; r < s_.result_channels_; ++r) {
      const int64_t channel = group * s_.result_channels_ + r;
      call.added = p_.has_bias ? LoadBias(p_, b_, channel) : 0;
      for (const SegmentRun& run : runs) {
        const int64_t plane = result_planes_.PlaneAt(run.image, channel, run.depth);
        const int64_t end = std::min(s_.result_size_[1], run.row + run.tiles * s_.tile_);
        call.tiles = run.tiles;
        call.points = scratch.results + r * call.term_count * s_.result_floats_ + run.position;
        call.row = direct ? run.row : 0;
        call.height = end - run.row + call.row;
        call.row_step = direct ? strides[3] : columns;
        call.plane = direct ? static_cast<void*>(result_planes_.Address(plane)) : scratch.rows;
        finite = transform(call) && finite;
        for (int64_t y = run.row; y < end && !direct; ++y) {
          result_.Store(plane + y * strides[3], &whole, 1, 1, scratch.rows + (y - run.row) * columns);
        }
      }
    }
    if (!finite) nonfinite_->store(1, std::memory_order_relaxed);
  }

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  float* packed_;
  plan::Shares scratch_;
  std::atomic<int>* nonfinite_;
  RowReader source_;
  LineReader weight_;
  LineWriter result_;
  sheets::PlaneWriter result_planes_;
  kernels::convert::Form result_form_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  if (!DataRun(*this, problem, buffers, ledger, workspace).Run()) direct_.Run(problem, buffers, ledger, workspace);
}

}  // namespace canopy::conv::row_winograd
