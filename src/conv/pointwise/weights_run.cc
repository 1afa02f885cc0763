// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/bias_sums.h"
#include "conv/packing/cache_sets.h"
#include "conv/packing/row_panels.h"
#include "conv/packing/store.h"
#include "conv/pair_reader.h"
#include "conv/pointwise/weights_asks.h"
#include "conv/pointwise/weights_step.h"
#include "exec/pool.h"

namespace canopy::conv::pointwise {
namespace {

constexpr int64_t kPiecesASum = 32;  // pieces whose sums are added up before a further level is opened
constexpr int64_t kRowsASum = 64;    // of segments' sums that a job adds up

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch,
             float* partial, double* biases)
      : s_(step),
        p_(problem),
        lanes_operand_(s_.unfolded_ ? p_.input : packing::Flat(s_.cut_.outputs_are_lanes ? p_.output : p_.input)),
        rows_operand_(packing::Flat(s_.cut_.outputs_are_lanes ? p_.input : p_.output)),
        scratch_(scratch),
        lanes_(s_.cut_.outputs_are_lanes ? buffers.output : buffers.input, lanes_operand_.dtype, p_.rule),
        rows_(s_.cut_.outputs_are_lanes ? buffers.input : buffers.output, rows_operand_.dtype, p_.rule),
        lane_pairs_(s_.cut_.outputs_are_lanes ? buffers.output : buffers.input, lanes_operand_.dtype, p_.rule),
        row_pairs_(s_.cut_.outputs_are_lanes ? buffers.input : buffers.output, rows_operand_.dtype, p_.rule),
        result_(buffers.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        b_(buffers),
        partial_(partial),
        biases_(biases) {}

  void Run(const plan::WorkspaceLedger& ledger, void* workspace) const {
    const bool serial = s_.cut_.work < kSerialWork;
    const int64_t blocks = s_.cut_.jobs(p_.geometry.groups), segments = s_.cut_.segments;
    const auto load = [&](int64_t part, int worker, float* slabs) {
      const int64_t lane_blocks = s_.cut_.panels.blocks();
      LoadLanes({part / lane_blocks, 0, 0, part % lane_blocks}, SpanAt(0), ScratchOf(worker).lines,
                slabs + part * s_.SlabFloats());
    };
    const packing::CommonNumbers::Run lanes(s_.lanes_, ledger, workspace, load);
    lanes.Begin(serial);
    const bool by_segments = s_.BySegments(s_.cut_);
    exec::ParallelFor(blocks * segments, serial, [&](int64_t index, int worker) {
      WeightsScratch scratch = ScratchOf(worker);
      scratch.all_lanes = lanes.Of(worker);
      if (by_segments) {
        Job(index % blocks, index / blocks, scratch);
      } else {
        Job(index / segments, index % segments, scratch);
      }
    });
    if (s_.bias_) {
      StoreBiasSums(p_, b_, segments, s_.bias_from_output_ ? 1 : p_.geometry.taps(), serial, biases_);
    }
    if (segments > 1) {
      const int64_t parts = base::CeilDiv(s_.cut_.block, kRowsASum);
      exec::ParallelFor(blocks * parts, serial, [&](int64_t index, int worker) {
        Reduce(index / parts, index % parts * kRowsASum, ScratchOf(worker));
      });
    }
  }

 private:
  struct Block {
    int64_t group, first_row, rows;  // channels of the group
    int64_t lanes;                   // number of its lane block
  };

  WeightsScratch ScratchOf(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  Block BlockAt(int64_t index) const {
    const int64_t lane_blocks = s_.cut_.panels.blocks();
    Block block;
    block.lanes = index % lane_blocks;
    block.first_row = index / lane_blocks % s_.cut_.blocks * s_.cut_.block;
    block.rows = std::min(s_.cut_.block, s_.cut_.row_channels - block.first_row);
    block.group = index / (lane_blocks * s_.cut_.blocks);
    return block;
  }

  PieceSpan SpanAt(int64_t piece) const {
    const int64_t image = s_.pieces_.image(piece) * s_.images_;
    return {image, std::min(s_.images_, p_.geometry.batch - image), s_.pieces_.first(piece), s_.pieces_.size(piece)};
  }

  void Job(int64_t block_index, int64_t segment, const WeightsScratch& scratch) const {
    const Block block = BlockAt(block_index);
    const int64_t floats = s_.cut_.tiles_floats();
    float* sums = partial_ != nullptr ? partial_ + (block_index * s_.cut_.segments + segment) * floats : scratch.sums;
    const int64_t begin = segment * s_.cut_.segment_pieces;
    const int64_t end = std::min(s_.pieces_.count(), begin + s_.cut_.segment_pieces);
    if (begin >= end) std::memset(sums, 0, static_cast<size_t>(floats) * sizeof(float));
    double* biases = BiasesOf(block, segment);
    if (biases != nullptr) {
      std::fill_n(biases, s_.BiasesAreLanes() ? s_.cut_.panels.channels(block.lanes) : block.rows, 0.0);
    }
    for (int64_t first = begin; first < end; first += kPiecesASum) {
      const int64_t last = std::min(end, first + kPiecesASum);
      float* tiles = first == begin ? sums : scratch.tiles;
      for (int64_t index = first; index < last; ++index) {
        // Behind the segment's end as well: most likely this thread's next job starts there.
        const PieceSpan next = index + 1 < s_.pieces_.count() ? SpanAt(index + 1) : PieceSpan{};
        AddPiece(block, SpanAt(index), next, index > first, tiles, biases, scratch);
      }
      if (tiles != sums) kernels::Lines().add(tiles, floats, sums);
    }
    if (partial_ == nullptr) Store(block, sums, scratch);
  }

  // Where a job sums biases, or nullptr: one of those that meet the same channels does.
  double* BiasesOf(const Block& block, int64_t segment) const {
    const bool lanes = s_.BiasesAreLanes(), sums = s_.bias_ && (lanes ? block.first_row : block.lanes) == 0;
    const int64_t channels = lanes ? LaneChannels() : s_.cut_.row_channels;
    const int64_t first = lanes ? s_.cut_.panels.first(block.lanes) : block.first_row;
    return sums ? biases_ + (segment * p_.geometry.groups + block.group) * channels + first : nullptr;
  }

  void AddLaneBiases(const Block& block, const PieceSpan& span, const float* slab, double* biases) const {
    const packing::LanePanels& panels = s_.cut_.panels;
    const int64_t width = panels.panel_lanes(), channels = panels.channels(block.lanes);
    for (int64_t n = 0; n < span.images; ++n, slab += span.pixels * panels.block_lanes()) {
      for (int64_t c = 0; c < channels; c += width) {
        AddLaneSums(slab + c * span.pixels, width, span.pixels, std::min(width, channels - c), biases + c);
      }
    }
  }

  // The block's rows at a piece's first pixel, or how they are copied, a panel at a time.
  struct Rows {
    const float* at;  // nullptr: they are copied
    int64_t stride, image_stride;
  };

  // What the products of a block and a piece are made of.
  struct Piece {
    const Block& block;
    PieceSpan span, next;  // next: what follows
    Rows rows;
    const float* slab;
    float* tiles;
    double* row_biases;  // or nullptr
    bool accumulate;
  };

  // tiles (+)= the piece's products. Panels of rows meet all panels of lanes as wide one after another, so that a row
  // is read once for them.
  void AddPiece(const Block& block, const PieceSpan& span, const PieceSpan& next, bool accumulate, float* tiles,
                double* biases, const WeightsScratch& scratch) const {
    const packing::LanePanels& panels = s_.cut_.panels;
    const float* slab = scratch.lanes;
    if (scratch.all_lanes != nullptr) {
      slab = scratch.all_lanes + (block.group * panels.blocks() + block.lanes) * s_.SlabFloats();
    } else {
      LoadLanes(block, span, scratch.lines, scratch.lanes);
    }
    const bool by_lanes = s_.BiasesAreLanes();
    if (biases != nullptr && by_lanes) AddLaneBiases(block, span, slab, biases);
    const Piece piece{block, span, next, RowsOf(block, span), slab, tiles, by_lanes ? nullptr : biases, accumulate};
    const int64_t count = panels.panels(block.lanes);
    for (int64_t panel = 0, alike; panel < count; panel += alike) {
      alike = panels.Alike(block.lanes, panel);
      AddPanels(piece, {panel, alike}, panel + alike == count, scratch);
    }
  }

  // Some panels of lanes, the last ones or not. Meanwhile what comes next is brought from memory: channels are too far
  // apart for the processor to foresee.
  void AddPanels(const Piece& piece, const Range& lanes, bool last, const WeightsScratch& scratch) const {
    const packing::LanePanels& panels = s_.cut_.panels;
    const int64_t terms = s_.Terms(piece.span.pixels);
    const kernels::GatherTiles& by_rows = panels.tiles(piece.block.lanes, lanes.first);
    const packing::RowPanels row_panels(piece.block.rows, by_rows.most_rows);
    Rows rows = piece.rows;
    if (rows.at == nullptr || (s_.crowded_ && packing::CrowdASet(by_rows.most_rows, rows.stride))) {
      rows = {nullptr, s_.copied_stride(), terms};
    }
    for (int64_t n = 0; n < piece.span.images; ++n) {
      scratch.runs[n] = {n * rows.image_stride, n * terms * panels.block_lanes(), terms};
    }
    for (int r = 0; r < by_rows.most_rows; ++r) {
      scratch.row_offsets[r] = r * rows.stride;
      scratch.result_offsets[r] = r * panels.block_lanes();
    }
    kernels::GatherOperands operands{};
    operands.runs = scratch.runs;
    operands.run_count = piece.span.images;
    operands.row_offsets = scratch.row_offsets;
    operands.b_step = panels.panel_lanes();
    operands.result_offsets = scratch.result_offsets;
    for (int64_t p = 0; p < row_panels.count(); ++p) {
      const Range some{row_panels.first(p), row_panels.rows(p)};
      operands.a = rows.at != nullptr ? rows.at + some.first * rows.stride : scratch.rows;
      if (rows.at == nullptr) CopyRows(piece, some, scratch.rows);
      for (int64_t i = 0; i < lanes.count; ++i) {
        const int64_t panel = lanes.first + i;
        operands.b = piece.slab + panel * terms * panels.panel_lanes();
        operands.c = piece.tiles + some.first * panels.block_lanes() + panel * panels.panel_lanes();
        operands.ahead_step = 0;
        Ask(piece, {i, lanes.count}, p, row_panels, last, &operands);
        const bool asks = operands.ahead_step > 0;
        (asks ? by_rows.scattered_ahead : by_rows.scattered)[some.count](operands, piece.accumulate);
      }
      if (last && piece.row_biases != nullptr) {
        const Rows& from = piece.rows;
        AddRowSums({from.at + some.first * from.stride, from.stride, some.count, piece.span.pixels, piece.span.images,
                    from.image_stride},
                   piece.row_biases + some.first);
      }
    }
  }

  // Lets the call of row panel p and a panel of lanes ask for what it has the time to: coming rows with the last panel,
  // coming lanes with the one before. Where there is one, most row panels ask for rows of two, the others for lanes.
  void Ask(const Piece& piece, const Range& panel, int64_t p, const packing::RowPanels& row_panels, bool last,
           kernels::GatherOperands* operands) const {
    const int64_t end = row_panels.count() - 1;
    if (panel.count > 1) {
      if (last && panel.first == panel.count - 2) return AskForLanes(piece, {p, end + 1}, operands);
      if (panel.first < panel.count - 1) return;
    } else if (last && end < 2) {
      AskForLanes(piece, {p, end + 1}, nullptr);
    } else if (last && p % 2 == 1 && p < end) {
      return AskForLanes(piece, {p / 2, end / 2}, operands);
    }
    if (p == end) {
      const PieceSpan& next = last ? piece.next : piece.span;
      if (next.images > 0) AskForRows(piece.block, next, {0, row_panels.rows(0)}, operands);
      return;
    }
    const int64_t to = panel.count > 1 || !last ? p + 1 : std::min(p + 2, end);
    const int64_t first = row_panels.first(p + 1);
    AskForRows(piece.block, piece.span, {first, row_panels.first(to) + row_panels.rows(to) - first}, operands);
  }

  void AskForRows(const Block& block, const PieceSpan& next, const Range& rows,
                  kernels::GatherOperands* operands) const {
    const int64_t first = block.group * s_.cut_.row_channels + block.first_row;
    AskForPiece(rows_, rows_operand_, {first + rows.first, rows.count}, next, operands);
  }

  // Share `share.first` of `share.count`, at once where there is no call.
  void AskForLanes(const Piece& piece, const Range& share, kernels::GatherOperands* operands) const {
    const Range lanes{FirstLane(piece.block), s_.cut_.panels.channels(piece.block.lanes)};
    if (!s_.unfolded_) return AskForShare(lanes_, lanes_operand_, lanes, share, piece.next, operands);
    if (operands != nullptr) {
      AskForUnfolded(lanes_, s_.input_, s_.input_.ChannelsOf(lanes), share, piece.next, s_.pieces_.plane, operands);
    }
  }

  // Fills slab_at[image][panel][term][lane].
  void LoadLanes(const Block& block, const PieceSpan& span, const packing::SlabScratch& lines, float* slab_at) const {
    if (s_.dot_rate_ > 0) return LoadLanePairs(block, span, lines, slab_at);
    const packing::LanePanels& panels = s_.cut_.panels;
    packing::SlabShape slab;
    slab.images = 1;
    slab.axes = {packing::AxisRange{0, 1, 1}, {0, 1, 1}, {span.first, 1, span.pixels}};
    slab.first_channel = FirstLane(block);
    slab.channels = panels.channels(block.lanes);
    slab.panel = panels.panel_lanes();
    for (int64_t n = 0; n < span.images; ++n) {
      slab.first_image = span.image + n;
      float* to = slab_at + n * span.pixels * panels.block_lanes();
      if (s_.unfolded_) {
        const Range pixels{slab.first_image * s_.pieces_.plane + span.first, span.pixels};
        s_.input_.FetchLanes(lanes_, {slab.first_channel, slab.channels}, pixels, slab.panel, lines, to);
      } else {
        packing::LoadSlab(lanes_, lanes_operand_, slab, lines, to);
      }
    }
  }

  void LoadLanePairs(const Block& block, const PieceSpan& span, const packing::SlabScratch& lines,
                     float* slab_at) const {
    const packing::LanePanels& panels = s_.cut_.panels;
    const int64_t width = panels.panel_lanes(), channels = panels.channels(block.lanes);
    const int64_t terms = s_.Terms(span.pixels);
    for (int64_t i = 0; i < terms; ++i) lines.offsets[i] = i * width;
    for (int64_t n = 0; n < span.images; ++n) {
      float* image = slab_at + n * terms * panels.block_lanes();
      for (int64_t c = 0, count; c < channels; c += count) {
        count = std::min({packing::kLines, channels - c, width - c % width});
        int64_t between;
        const float* from =
            LanePairs(FirstLane(block) + c, count, {span.image + n, 1, span.first, span.pixels}, lines.lines, &between);
        kernels::Lines().transpose(from, between, count, terms, image + c / width * terms * width + c % width,
                                   lines.offsets);
      }
    }
  }

  // Lines of pairs of some channels of an image, *between apart: in place or copied to `lines`.
  const float* LanePairs(int64_t first, int64_t count, const PieceSpan& span, float* lines, int64_t* between) const {
    const int64_t stride = lanes_operand_.strides[1];
    const int64_t offset = span.image * lanes_operand_.strides[0] + first * stride + span.first;
    const float* in_place = s_.unfolded_ ? nullptr : InPlace(lane_pairs_, offset, lanes_operand_, span);
    *between = in_place != nullptr ? stride / 2 : packing::kLine;
    if (in_place != nullptr) return in_place;
    for (int64_t c = 0; c < count; ++c, lines += *between) {
      if (s_.unfolded_) {
        s_.input_.FetchNumbers(lane_pairs_, first + c, {span.image * s_.pieces_.plane + span.first, span.pixels},
                               lines);
      } else {
        lane_pairs_.FetchRun(offset + c * stride, span.pixels, lines);
      }
    }
    return lines - count * *between;
  }

  // Pairs that need no copy, or nullptr: none may reach beyond the piece.
  static const float* InPlace(const PairReader& reader, int64_t offset, const Operand& operand, const PieceSpan& span) {
    const bool even = span.pixels % 2 == 0 && operand.strides[1] % 2 == 0 && operand.strides[0] % 2 == 0;
    return even ? reader.Direct(offset) : nullptr;
  }

  Rows RowsOf(const Block& block, const PieceSpan& span) const {
    const int64_t offset = RowOffset(block, span), stride = rows_operand_.strides[1];
    const bool pairs = s_.dot_rate_ > 0;
    const float* in_place = pairs ? InPlace(row_pairs_, offset, rows_operand_, span) : rows_.Direct(offset, 1);
    return {in_place, stride / s_.a_term(), rows_operand_.strides[0] / s_.a_term()};
  }

  void CopyRows(const Piece& piece, const Range& rows, float* to) const {
    const PieceSpan& span = piece.span;
    for (int64_t n = 0; n < span.images; ++n) {
      int64_t offset =
          RowOffset(piece.block, span) + n * rows_operand_.strides[0] + rows.first * rows_operand_.strides[1];
      float* row = to + n * s_.Terms(span.pixels);
      for (int64_t r = 0; r < rows.count; ++r, offset += rows_operand_.strides[1], row += s_.copied_stride()) {
        s_.dot_rate_ > 0 ? row_pairs_.FetchRun(offset, span.pixels, row) : rows_.FetchRun(offset, span.pixels, row);
      }
    }
  }

  int64_t RowOffset(const Block& block, const PieceSpan& span) const {
    return span.image * rows_operand_.strides[0] +
           (block.group * s_.cut_.row_channels + block.first_row) * rows_operand_.strides[1] + span.first;
  }

  int64_t FirstLane(const Block& block) const {
    return block.group * LaneChannels() + s_.cut_.panels.first(block.lanes);
  }
  int64_t LaneChannels() const { return s_.cut_.outputs_are_lanes ? s_.output_channels_ : s_.input_channels_; }

  // The fixed order of the sum over segments, for some rows of a block.
  void Reduce(int64_t block_index, int64_t row, const WeightsScratch& scratch) const {
    Block block = BlockAt(block_index);
    block.rows = std::min(kRowsASum, block.rows - row);
    block.first_row += row;
    if (block.rows <= 0) return;
    const int64_t floats = s_.cut_.tiles_floats(), lanes = s_.cut_.panels.block_lanes();
    float* sum = partial_ + block_index * s_.cut_.segments * floats + row * lanes;
    for (int64_t segment = 1; segment < s_.cut_.segments; ++segment) {
      kernels::Lines().add(sum + segment * floats, block.rows * lanes, sum);
    }
    Store(block, sum, scratch);
  }

  void Store(const Block& block, const float* tiles, const WeightsScratch& scratch) const {
    const auto strides = ProductOf(p_).weight_result.strides;
    const bool outputs = s_.cut_.outputs_are_lanes;
    const int64_t lane_stride = strides[outputs ? 0 : 1], row_stride = strides[outputs ? 1 : 0];
    const int64_t offset = block.group * s_.output_channels_ * strides[0] +
                           s_.cut_.panels.first(block.lanes) * lane_stride + block.first_row * row_stride;
    packing::StoreLines(
        result_, offset,
        {s_.cut_.panels.channels(block.lanes), block.rows, s_.cut_.panels.block_lanes(), lane_stride, row_stride},
        scratch.lines, tiles);
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  Operand lanes_operand_, rows_operand_;
  plan::Shares scratch_;
  LineReader lanes_, rows_;
  PairReader lane_pairs_, row_pairs_;  // with dot products
  LineWriter result_;
  const Buffers& b_;
  float* partial_;
  double* biases_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  float* partial = cut_.segments > 1 ? static_cast<float*>(ledger.Fetch(workspace, partial_handle_)) : nullptr;
  double* biases = bias_ ? static_cast<double*>(ledger.Fetch(workspace, bias_handle_)) : nullptr;
  WeightsRun(*this, problem, buffers, ledger.FetchEach(workspace, scratch_handle_), partial, biases)
      .Run(ledger, workspace);
}

}  // namespace canopy::conv::pointwise
