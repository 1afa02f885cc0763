// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked_math.h"
#include "conv/packing/asks.h"
#include "conv/pair_reader.h"
#include "conv/pointwise/bias.h"
#include "conv/pointwise/channel_asks.h"
#include "conv/pointwise/data_step.h"
#include "conv/pointwise/row_weights.h"
#include "conv/pointwise/spread_run.h"
#include "conv/pointwise/tile.h"
#include "exec/pool.h"
#include "kernels/streams.h"

namespace canopy::conv::pointwise {
namespace {

constexpr int64_t kNearWeightFloats = 16 << 10;  // of the row panels of one call: 64 KiB, which stream past the pixels
constexpr int64_t kNearResultFloats = 2 << 10;   // likewise, of results that leave it afterwards
constexpr int64_t kNearStreams = 32;             // channels whose results leave past the caches, a tile's row of each
constexpr int64_t kPanelsInPlace = 5;            // of rows: so few do not pay for a copy of the pixels
constexpr int64_t kWayBytes = 4 << 10;           // of an L1: lines that lie multiples of it apart share few places

}  // namespace

// One run of one step: its buffers with the plan's numbers. A pixel is a number that counts through the output planes
// of all images.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch)
      : s_(step),
        p_(problem),
        b_(buffers),
        scratch_(scratch),
        source_(s_.forward_ ? b_.input : b_.output, s_.source_.dtype, p_.rule),
        source_pairs_(s_.forward_ ? b_.input : b_.output, s_.source_.dtype, p_.rule),
        row_weights_(s_, p_, b_),
        result_(s_.forward_ ? b_.output_result : b_.input_result, s_.result_.dtype, p_.rule.saturate),
        in_place_(s_.planes_are_large() &&
                  (s_.keeps_no_results() ? kernels::AreLines(Results(), s_.plane_) : s_.direct_)) {}

  void Run(const plan::WorkspaceLedger& ledger, void* workspace) const {
    const int64_t pieces = s_.cut_.pieces.count(), blocks = p_.geometry.groups * s_.cut_.blocks;
    const bool serial = s_.cut_.work < kSerialWork;
    const auto scratch = [&](int worker) { return s_.ScratchAt(scratch_.Of(worker), nullptr); };
    const int64_t chunks = base::CeilDiv(s_.source_channels_, s_.chunk_);
    const auto pack = [&](int64_t index, int worker, float* packed) {
      const DataBlock block = BlockAt(index / chunks);
      const int64_t c = index % chunks * s_.chunk_;
      row_weights_.Pack(block, c, scratch(worker), packed + row_weights_.PackedOffset(block, c));
    };
    const packing::CommonNumbers::Run weights(s_.weights_, ledger, workspace, pack);
    weights.Begin(serial);
    exec::ParallelFor(blocks * pieces, serial, [&](int64_t index, int worker) {
      DataScratch own = scratch(worker);
      own.packed = weights.Of(worker);
      Job(BlockAt(index / pieces), index % pieces, own);
    });
  }

 private:
  struct Panel {
    int64_t first, count;  // pixels
    bool in_place;         // results are added up, or streamed, where they belong
    bool placed;           // the last sources' products bring them there
    float* results;        // where they are added up else: to be streamed, panel by panel out of the L1
  };

  DataBlock BlockAt(int64_t index) const {
    const int64_t first = index % s_.cut_.blocks * s_.cut_.block,
                  channels = std::min(s_.cut_.block, s_.result_channels_ - first);
    return {index / s_.cut_.blocks, first, channels, {channels, s_.rows()}};
  }

  void Job(const DataBlock& block, int64_t piece, const DataScratch& scratch) const {
    int64_t c = 0;
    do {  // once for no channels at all: the results are then 0
      const RowWeights::Panels weights = row_weights_.Of(block, c, scratch);
      ForEachPanel(piece, scratch, [&](const Panel& panel) {
        Multiply(block, panel, c, weights, ComingAfter(piece, panel, c), scratch);
      });
      c += s_.chunk_;
    } while (c < s_.source_channels_);
    if (s_.spread_) {
      const int64_t begin = PieceBegin(piece), channel = block.group * s_.result_channels_ + block.first;
      SpreadRun(s_, p_, b_, result_)
          .Store({channel, block.channels}, {begin, s_.cut_.pieces.size(piece)}, scratch.results, scratch.line);
    }
    if (s_.streams_) kernels::FinishStreams();
  }

  template <class F>
  void ForEachPanel(int64_t piece, const DataScratch& scratch, const F& visit) const {
    const int64_t begin = PieceBegin(piece), end = begin + s_.cut_.pieces.size(piece);
    for (int64_t first = begin; first < end; first += s_.panel_) {
      const int64_t count = std::min(s_.panel_, end - first);
      const bool together = first % s_.plane_ + count <= s_.plane_ && count % s_.tiles_[0].lanes == 0;
      const bool in_place = in_place_ && together;
      float* results = scratch.results + (s_.keeps_no_results() ? 0 : first - begin);
      visit(Panel{first, count, in_place, in_place || (s_.direct_ && s_.splits()), results});
    }
  }

  // A panel's first pixel, and its first source channel.
  struct Coming {
    int64_t pixel, c;
  };

  // What follows a panel: the piece's next one, its first of the next chunk, or that of the piece behind, which most
  // likely is this thread's next.
  Coming ComingAfter(int64_t piece, const Panel& panel, int64_t c) const {
    const int64_t begin = PieceBegin(piece), next = panel.first + panel.count;
    // The line that holds the next panel's first pixels has come with this one.
    const int64_t come = s_.picked_ ? 0 : kernels::kMemoryLine / numerics::ElementBytes(s_.source_.dtype);
    if (next < begin + s_.cut_.pieces.size(piece)) return {next + come, c};
    if (c + s_.chunk_ < s_.source_channels_) return {begin, c + s_.chunk_};
    return {next, 0};
  }

  int64_t PieceBegin(int64_t piece) const {
    return s_.cut_.pieces.image(piece) * s_.cut_.pieces.plane + s_.cut_.pieces.first(piece);
  }

  // The stretches of `count` pixels in images: visit(pixel, how many).
  template <class F>
  void ForEachRun(int64_t first, int64_t count, const F& visit) const {
    for (const int64_t end = first + count; first < end;) {
      const int64_t run = std::min(end - first, s_.plane_ - first % s_.plane_);
      visit(first, run);
      first += run;
    }
  }

  // FP32 results, where they belong.
  float* Results() const { return static_cast<float*>(s_.forward_ ? b_.output_result : b_.input_result); }

  // Of a pixel and the block's first channel, where results are not spread.
  int64_t ResultOffset(const DataBlock& block, int64_t pixel) const {
    return pixel / s_.plane_ * s_.result_.strides[0] + pixel % s_.plane_ +
           (block.group * s_.result_channels_ + block.first) * s_.result_.strides[1];
  }

  int64_t SourceOffset(const DataBlock& block, int64_t pixel, int64_t c) const {
    return pixel / s_.plane_ * s_.source_.strides[0] + pixel % s_.plane_ +
           (block.group * s_.source_channels_ + c) * s_.source_.strides[1];
  }

  void PackPixels(const DataBlock& block, const Panel& panel, int64_t c, const DataScratch& scratch) const {
    const int64_t sources = s_.CountOf(c), stride = s_.source_.strides[1];
    if (s_.picked_) {
      return s_.input_.Fetch(source_, {block.group * s_.source_channels_ + c, sources}, {panel.first, panel.count},
                             scratch.pixels, s_.panel_);
    }
    ForEachRun(panel.first, panel.count, [&](int64_t pixel, int64_t run) {
      const int64_t offset = SourceOffset(block, pixel, c);
      float* to = scratch.pixels + pixel - panel.first;
      if (s_.dot_rate_ > 0) {
        source_pairs_.ZipRows(offset, stride, sources, run, to, s_.panel_);
      } else {
        source_.CopyRows(offset, stride, sources, run, to, s_.panel_);
      }
    });
  }

  void Multiply(const DataBlock& block, const Panel& panel, int64_t c, const RowWeights::Panels& weights,
                const Coming& coming, const DataScratch& scratch) const {
    const int64_t sources = s_.CountOf(c), stride = s_.source_.strides[1];
    const kernels::GatherRun run{0, 0, s_.Terms(sources)};
    kernels::GatherOperands operands{};
    operands.runs = &run;
    operands.run_count = 1;
    operands.b_copy_step = s_.panel_;
    const bool last = c + sources == s_.source_channels_, placed = panel.in_place || (panel.placed && last);
    const int64_t row_stride = placed ? s_.result_.strides[1] : s_.held_lanes();
    operands.result_offsets = scratch.result_offsets;
    for (int64_t r = 0; r < s_.rows(); ++r) scratch.result_offsets[r] = r * row_stride;
    operands.added_step = s_.held_lanes();
    operands.streams = panel.in_place && s_.streams_;
    const int64_t source_jump = s_.source_.strides[0] - s_.plane_, result_jump = s_.result_.strides[0] - s_.plane_;
    Tile tiles[DataStep::kMostTiles];
    const int64_t count = ListTiles(block, panel, c, placed, coming, tiles);
    const bool stored = last && !s_.spread_ && (!panel.placed || p_.rule.saturate);
    const bool written = (placed || stored) && !s_.streams_;  // into lines that have to be read first
    const int64_t bytes = numerics::ElementBytes(s_.source_.dtype);
    // Meanwhile what comes next, of which processors foresee nothing, since planes are far apart: the first row panels
    // ask for pixels, the others for where the next pixels' results are written.
    const int64_t askers =
        !written || block.panels.count() == 1 ? block.panels.count() : (block.panels.count() + 1) / 2;
    const int64_t times = packing::AskTimes(run.terms), result_bytes = numerics::ElementBytes(s_.result_.dtype);
    const packing::Asks pixel_asks(sources, askers, times);
    const packing::Asks result_asks(block.channels, block.panels.count() - askers, times);
    const ChannelAsks channel_asks = s_.picked_ ? AsksFor(block, coming, panel.count, askers, count) : ChannelAsks();
    if (tiles[0].source == nullptr) PackPixels(block, panel, c, scratch);
    const int64_t near = PanelsNear(block, run.terms, stored);
    const bool copies = std::any_of(tiles, tiles + count, [](const Tile& tile) { return tile.copies(); });
    const int64_t ends[] = {copies ? 1 : 0, block.panels.longer(), askers, block.panels.count()};
    for (int64_t p = 0, next; p < block.panels.count(); p = next) {
      next = p + near;
      for (const int64_t end : ends) {  // of those that copy, have a row more, ask for pixels
        if (p < end) next = std::min(next, end);
      }
      const int64_t row = block.panels.first(p), rows = block.panels.rows(p);
      operands.a = weights.first + row * weights.row;
      operands.a_step = weights.line == 0 ? rows : weights.line;
      operands.panels = next - p;
      operands.a_panel = rows * weights.row;
      operands.c_panel = rows * row_stride;
      for (const Tile* tile = tiles; tile < tiles + count; ++tile) {
        const bool copying = p == 0 && tile->copies(), in_place = copying || tile->in_place;
        operands.b_copy = scratch.pixels + tile->at;
        operands.b = in_place ? tile->source : operands.b_copy;
        operands.b_step = in_place ? stride : s_.panel_;
        operands.asks = 0;
        if (p >= askers) {
          operands.ahead_line = s_.tiles_[0].lanes * result_bytes;
          result_asks.Assign(p - askers, tile->results_coming, s_.result_.strides[1] * result_bytes, &operands);
        } else if (s_.picked_) {
          channel_asks.Assign(p, tile - tiles, run.terms, s_.lanes() / s_.tiles_[0].lanes, &operands);
        } else {
          operands.ahead_line = s_.tiles_[0].lanes * bytes;
          pixel_asks.Assign(p, tile->coming, stride * bytes, &operands);
        }
        operands.c = tile->result + row * row_stride;
        operands.added = tile->added + row * s_.held_lanes();
        tile->Choose(copying, placed && !panel.in_place, source_jump, result_jump, &operands)[rows](operands, c > 0);
      }
      if (stored) Store(block, panel, row, (next - p) * rows);  // out of the L1
    }
  }

  ChannelAsks AsksFor(const DataBlock& block, const Coming& coming, int64_t count, int64_t panels,
                      int64_t tiles) const {
    const Range pixels{coming.pixel, std::min(count, s_.plane_ - coming.pixel % s_.plane_)};
    const Range channels{block.group * s_.source_channels_ + coming.c, s_.CountOf(coming.c)};
    return {s_.input_, source_, channels, pixels, panels, tiles};
  }

  // Row panels that one call multiplies: with what they read and leave to be stored as many as the L1 holds beside the
  // pixels.
  int64_t PanelsNear(const DataBlock& block, int64_t terms, bool stored) const {
    const int64_t by_weights = kNearWeightFloats / std::max<int64_t>(1, s_.rows() * terms);
    const int64_t by_results = s_.keeps_no_results() ? kNearStreams / s_.rows()
                               : stored              ? kNearResultFloats / (s_.rows() * s_.panel_)
                                                     : block.panels.count();
    return std::max<int64_t>(1, std::min(by_weights, by_results));
  }

  // Small planes' images end within panels, so that what comes in the place of each tile is looked for by itself.
  int64_t ListTiles(const DataBlock& block, const Panel& panel, int64_t c, bool placed, const Coming& coming,
                    Tile* tiles) const {
    const int64_t vector = s_.tiles_[0].lanes, last = s_.cut_.pieces.images * s_.cut_.pieces.plane - 1;
    // The first rows' product copies FP32 pixels on its way: whole vectors, or any where tiles can be split.
    const bool whole = panel.first % s_.plane_ + panel.count <= s_.plane_ && panel.count % vector == 0;
    const bool copied = !s_.picked_ && (whole || s_.splits());
    const int64_t bytes = s_.source_.strides[1] * static_cast<int64_t>(sizeof(float));
    const bool few = block.panels.count() <= kPanelsInPlace && bytes % kWayBytes != 0;
    int64_t listed = 0;
    for (int64_t at = 0; at < panel.count; at += s_.lanes()) {
      const int64_t first = panel.first + at, count = std::min(s_.lanes(), panel.count - at);
      const int64_t result = s_.spread_ ? 0 : ResultOffset(block, first);
      const int64_t result_coming = s_.spread_ ? 0 : ResultOffset(block, std::min(first + panel.count, last));
      const int64_t split = std::min(count, s_.plane_ - first % s_.plane_);
      const float* source = copied ? source_.Direct(SourceOffset(block, first, c), 1) : nullptr;
      tiles[listed++] = {at,
                         count,
                         split,
                         source,
                         few && source != nullptr && split == count && count % vector == 0,
                         placed ? Results() + result : panel.results + at,
                         panel.results + at,
                         &s_.tiles_[base::CeilDiv(count, vector) - 1],
                         source_.Address(SourceOffset(block, std::min(coming.pixel + at, last), coming.c)),
                         result_.Address(result_coming)};
    }
    return listed;
  }

  void Store(const DataBlock& block, const Panel& panel, int64_t first, int64_t rows) const {
    ForEachRun(panel.first, panel.count, [&](int64_t pixel, int64_t run) {
      const int64_t stride = s_.result_.strides[1], offset = ResultOffset(block, pixel) + first * stride;
      const kernels::Segment whole{0, 0, static_cast<int32_t>(run)};
      const int64_t line_step = panel.placed ? stride : s_.held_lanes();
      float* line = panel.placed ? Results() + offset : panel.results + first * line_step + pixel - panel.first;
      float* direct = p_.has_bias ? nullptr : result_.Direct(offset, 1);
      if (direct != nullptr && s_.streams_ && kernels::AreLines(direct, run)) {
        return kernels::Lines().stream_rows(line, line_step, rows, run, direct, stride);
      }
      if (direct != nullptr) return kernels::Lines().copy_rows(line, line_step, rows, run, direct, stride);
      for (int64_t r = 0; r < rows; ++r, line += line_step) {
        if (p_.has_bias) AddBias(p_, b_, block.group * s_.result_channels_ + block.first + first + r, run, line);
        result_.Store(offset + r * stride, &whole, 1, 1, line);
      }
    });
  }

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  plan::Shares scratch_;
  LineReader source_;
  PairReader source_pairs_;  // with dot products
  RowWeights row_weights_;
  LineWriter result_;
  bool in_place_;  // tiles within an image are written where they belong, past the caches or not
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  DataRun(*this, problem, buffers, ledger.FetchEach(workspace, scratch_handle_)).Run(ledger, workspace);
}

}  // namespace canopy::conv::pointwise
