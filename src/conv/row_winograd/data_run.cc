// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <span>

#include "base/checked_math.h"
#include "conv/elements.h"
#include "conv/kernel_rows.h"
#include "conv/packing/asks.h"
#include "conv/packing/row_panels.h"
#include "conv/row_winograd/data_step.h"
#include "conv/row_winograd/row_reader.h"
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

  // packed[point][result channel][kernel column][source], a source being a channel and a kernel depth.
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
        float* to = tile + (s_.forward_ ? h : size[1] - 1 - h) * s_.group_weights() + result * s_.weights() +
                    source * size[0] + d;
        for (int64_t w = 0; w < size[2]; ++w) to[w * s_.sources_] = *kernel++;
      }
    }
  }

  void Job(int64_t group, int64_t first, int64_t end, const DataScratch& scratch) const {
    Clear(scratch);
    int64_t runs = s_.lines_.ListRuns(first, scratch.segments);
    for (int64_t line = first; line < end; ++line) {
      for (int64_t c = 0; c < s_.sources_; c += s_.chunk_) {
        const Chunk chunk{group, c, std::min(s_.chunk_, s_.sources_ - c)};
        Load(chunk, {scratch.segments, static_cast<size_t>(runs)}, scratch);
        Multiply(chunk, s_.lines_.PositionsOf(line), WantedAfter(chunk, line, end, *scratch.segments), scratch);
      }
      Store(group, {scratch.segments, static_cast<size_t>(runs)}, scratch);
      if (line + 1 < end) runs = s_.lines_.ListRuns(line + 1, scratch.segments);
    }
  }

  // Once a run: nobody writes where no window is.
  void Clear(const DataScratch& scratch) const {
    if (*scratch.cleared != 0) return;
    *scratch.cleared = 1;
    std::fill_n(scratch.zeros, s_.source_size_[2], 0.0f);
    std::fill_n(scratch.windows, kWinogradPoints * s_.chunk_ * s_.window_floats_, 0.0f);
    for (int64_t r = 0; r < kernels::GatherTiles::kMostRows; ++r) {
      scratch.row_offsets[r] = r * s_.weights();
      scratch.result_offsets[r] = r * s_.result_floats_;
    }
  }

  void Load(const Chunk& chunk, std::span<const SegmentRun> runs, const DataScratch& scratch) const {
    const int64_t depths = static_cast<int64_t>(s_.depths_.shifts.size());
    const kernels::RowsToPointsFn transform = kernels::RowPoints().windows[static_cast<int>(source_.form())];
    kernels::RowsToPoints call{};
    call.tile_rows = s_.tile_;
    call.pitch = s_.lines_.pitch();
    call.step = s_.chunk_ * s_.window_floats_;
    call.zeros = scratch.zeros;
    for (int64_t i = 0; i < chunk.sources; ++i) {
      const int64_t source = chunk.first + i, channel = chunk.group * s_.source_channels_ + source / depths;
      const int64_t shift = s_.depths_.shifts[static_cast<size_t>(source % depths)];
      float* to = scratch.windows + i * s_.window_floats_ + s_.lines_.left();
      for (const SegmentRun& run : runs) {
        source_.Set(run.image, channel, run.depth + shift, run.row + s_.rows_.least(), run.tiles, scratch.rows, &call);
        call.points = to + run.position;
        transform(call);
      }
    }
  }

  // The next chunk of a line that begins with `run`, or the rows behind these.
  Wanted WantedAfter(const Chunk& chunk, int64_t line, int64_t end, const SegmentRun& run) const {
    const int64_t depths = static_cast<int64_t>(s_.depths_.shifts.size());
    int64_t next = chunk.first + chunk.sources, rows = s_.lines_.SegmentsOf(line) * s_.tile_, row = run.row;
    if (next >= s_.sources_) {
      next = 0;
      if (line + 1 < end) row += rows;
    }
    rows = std::max<int64_t>(1, std::min(rows, s_.source_size_[1] - run.row));
    const int64_t channels = std::max<int64_t>(1, std::min(s_.chunk_, s_.sources_ - next) / depths);
    const int64_t channel = chunk.group * s_.source_channels_ + next / depths;
    return {source_.Address(run.image, channel, run.depth, row), channels, source_.channel_bytes(),
            rows * source_.row_bytes()};
  }

  // Adds a chunk's terms at all points.
  void Multiply(const Chunk& chunk, int64_t positions, const Wanted& wanted, const DataScratch& scratch) const {
    const int64_t columns = static_cast<int64_t>(s_.columns_.shifts.size()), weights = s_.weights();
    for (int64_t k = 0; k < columns; ++k) {
      scratch.runs[k] = {k * s_.sources_ + chunk.first, s_.lines_.left() + s_.columns_.shifts[static_cast<size_t>(k)],
                         chunk.sources};
    }
    kernels::GatherOperands operands{};
    operands.runs = scratch.runs;
    operands.run_count = columns;
    operands.row_offsets = scratch.row_offsets;
    operands.result_offsets = scratch.result_offsets;
    operands.b_step = s_.window_floats_;
    operands.panels = kWinogradPoints;
    operands.a_panel = s_.group_weights();
    operands.b_panel = s_.chunk_ * s_.window_floats_;
    operands.c_panel = s_.result_channels_ * s_.result_floats_;
    const int64_t lanes = s_.tiles_.vector_lanes, vectors = base::CeilDiv(positions, lanes);
    const int64_t blocks = base::CeilDiv(vectors, int64_t{s_.vectors_});
    const packing::RowPanels panels(s_.result_channels_, s_.tiles_.tiles[s_.vectors_ - 1].most_rows);
    const float* packed = packed_ + chunk.group * kWinogradPoints * s_.group_weights();
    // Every call asks for some channels' rows, a part of them at each point.
    const int64_t share = base::CeilDiv(wanted.channels, blocks * panels.count());
    operands.ahead_panel = wanted.bytes / kWinogradPoints;
    packing::AskForStretches(wanted.first, share, operands.ahead_panel, wanted.channel_bytes, &operands);
    int64_t vector = 0, asked = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t width = (vectors - vector + blocks - block - 1) / (blocks - block);
      const kernels::GatherTiles& tiles = s_.tiles_.tiles[width - 1];
      operands.b = scratch.windows + vector * lanes;
      for (int64_t p = 0; p < panels.count(); ++p) {
        operands.a = packed + panels.first(p) * weights;
        operands.c = scratch.results + panels.first(p) * s_.result_floats_ + vector * lanes;
        operands.ahead = wanted.first + asked * wanted.channel_bytes;
        asked = std::min(asked + share, wanted.channels - share);
        tiles.scattered_ahead[panels.rows(p)](operands, chunk.first > 0);
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
    call.step = s_.result_channels_ * s_.result_floats_;
    call.count = columns;
    bool finite = true;
    for (int64_t r = 0; r < s_.result_channels_; ++r) {
      const int64_t channel = group * s_.result_channels_ + r;
      call.added = p_.has_bias ? LoadBias(p_, b_, channel) : 0;
      for (const SegmentRun& run : runs) {
        const int64_t plane = result_planes_.PlaneAt(run.image, channel, run.depth);
        const int64_t end = std::min(s_.result_size_[1], run.row + run.tiles * s_.tile_);
        call.tiles = run.tiles;
        call.points = scratch.results + r * s_.result_floats_ + run.position;
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
