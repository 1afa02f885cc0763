// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "conv/elements.h"
#include "conv/joint_columns/step.h"
#include "conv/kernel_rows.h"
#include "conv/nonfinite.h"
#include "conv/packing/asks.h"
#include "conv/packing/row_panels.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"

namespace canopy::conv::joint_columns {

// One run of one step: its buffers with the plan's numbers.
class JointRun {
 public:
  JointRun(const JointStep& step, const ConvProblem& problem, const Buffers& buffers, float* packed, float* partial,
           void* flag, plan::Shares scratch)
      : s_(step),
        p_(problem),
        g_(problem.geometry),
        b_(buffers),
        packed_(packed),
        partial_(partial),
        scratch_(scratch),
        input_(b_.input, p_.input.dtype, p_.rule),
        output_(b_.output, p_.output.dtype, p_.rule),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        input_result_(b_.input_result, p_.input_result.dtype, p_.rule.saturate),
        weight_result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        panels_(s_.columns_, s_.tiles_.tiles[s_.vectors_ - 1].most_rows),
        nonfinite_(new (flag) std::atomic<int>(0)) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    exec::ParallelFor(chunks(), serial, [&](int64_t chunk, int worker) { PackWeights(chunk, ScratchOf(worker)); });
    // Zeros end the pixels of a piece, and stand for the padding.
    const auto take_finite = [this] {
      again_ = true;  // the other gradients are right already
      input_.TakeFiniteOnly();
      output_.TakeFiniteOnly();
    };
    RunPastNonfinite(
        p_, b_, serial, *nonfinite_, [&] { RunJobs(serial); }, take_finite);
  }

 private:
  // A chunk of output channels.
  struct Chunk {
    int64_t first, outputs;
  };

  // Pixels of a chunk as FP32 numbers: that of output channel k and pixel i is at[k * pitch + i].
  struct Block {
    const float* at;
    int64_t pitch;
  };

  JointScratch ScratchOf(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }
  int64_t chunks() const { return base::CeilDiv(s_.outputs_, s_.chunk_); }
  Chunk ChunkAt(int64_t number) const {
    const int64_t first = number * s_.chunk_;
    return {first, std::min(s_.chunk_, s_.outputs_ - first)};
  }

  // packed[chunk][row panel][term][row].
  void PackWeights(int64_t number, const JointScratch& scratch) const {
    const Chunk chunk = ChunkAt(number);
    for (int64_t k = 0; k < chunk.outputs; ++k) {
      weight_.FetchRun((chunk.first + k) * p_.weight.strides[0], s_.columns_, scratch.products);
      for (int64_t panel = 0; panel < panels_.count(); ++panel) {
        const int64_t first = panels_.first(panel), rows = panels_.rows(panel);
        std::copy_n(scratch.products + first, rows,
                    packed_ + chunk.first * s_.columns_ + first * chunk.outputs + k * rows);
      }
    }
  }

  void RunJobs(bool serial) const {
    exec::ParallelFor(s_.jobs_, serial, [&](int64_t job, int worker) {
      const int64_t end = (job + 1) * s_.pieces(g_) / s_.jobs_;
      const JointScratch scratch = ScratchOf(worker);
      List(scratch);
      std::memset(Partial(job), 0, static_cast<size_t>(s_.partial_floats()) * sizeof(float));
      for (int64_t index = job * s_.pieces(g_) / s_.jobs_; index < end; ++index) {
        RunPiece(s_.PieceAt(g_, index), s_.PieceAt(g_, std::min(index + 1, end - 1)), Partial(job), scratch);
      }
    });
    exec::ParallelFor(chunks(), serial, [&](int64_t chunk, int) { Finish(ChunkAt(chunk)); });
  }

  float* Partial(int64_t job) const { return partial_ + job * s_.partial_floats(); }

  // Where each column is in the slab, and its products among the sums.
  void List(const JointScratch& scratch) const {
    s_.slab_.ListTaps(g_, s_.inputs_, scratch.tap_offsets);
    int64_t* to = scratch.sum_offsets;
    for (int64_t c = 0; c < s_.inputs_; ++c) {
      for (int64_t k = 0; k < g_.kernel[2]; ++k) {
        const int64_t w = k * g_.dilation[2];
        *to++ = (c * g_.stride[2] + w % g_.stride[2]) * s_.phase_floats_ + w / g_.stride[2];
      }
    }
    std::memset(scratch.slab, 0,
                static_cast<size_t>(s_.inputs_ * s_.slab_.channel_floats() + 2 * kernels::kLineSlack) * sizeof(float));
  }

  void RunPiece(const Piece& piece, const Piece& next, float* partial, const JointScratch& scratch) const {
    s_.slab_.Fill(p_, input_, {piece.image, 0, 0, piece.begin, 1, piece.end - piece.begin}, 0, s_.inputs_, scratch.line,
                  scratch.slab);
    for (int64_t number = 0; number < chunks(); ++number) RunChunk(piece, next, number, partial, scratch);
    if (!again_) StoreInput(piece, scratch);
  }

  // Of a chunk of output channels the terms of the products, and all of the weights' sums over the piece. The sums come
  // first: they read the output row by row, which is what processors fetch ahead of themselves.
  void RunChunk(const Piece& piece, const Piece& next_piece, int64_t number, float* partial,
                const JointScratch& scratch) const {
    const Chunk chunk = ChunkAt(number);
    const int64_t results = chunk.outputs * s_.results();
    std::memset(scratch.sums, 0, static_cast<size_t>(results * s_.lanes_) * sizeof(float));
    int64_t next = piece.first;  // panel
    for (int64_t begin = piece.begin; begin < piece.end; begin += s_.strip_) {
      const int64_t end = std::min(piece.end, begin + s_.strip_);
      const int64_t from = std::max(piece.first, std::min(next - s_.panel_lanes(), begin));
      const Block block = BlockOf(piece, chunk, from, std::min(piece.end, end + s_.panel_lanes()), scratch);
      AddToSums(piece, chunk, begin, end, block, scratch);
      if (again_) continue;
      const char* coming = Coming(piece, next_piece, number, end);
      for (; next < end; next += s_.panel_lanes()) {
        MultiplyPanel(piece, number, next, block, coming + (next - begin) * output_.element_bytes(), scratch);
      }
    }
    kernels::Dots().reduce(scratch.sums, results, scratch.reduced);
    float* to = partial + chunk.first * s_.results();
    for (int64_t i = 0; i < results; ++i) to[i] += scratch.reduced[i];
  }

  // The block after a chunk's that ends with pixel `end`.
  const char* Coming(const Piece& piece, const Piece& next_piece, int64_t number, int64_t end) const {
    int64_t offset = OutputOffset(piece, ChunkAt(number)) + end;
    if (end == piece.end) {
      offset = number + 1 < chunks() ? OutputOffset(piece, ChunkAt(number + 1)) + piece.begin
                                     : OutputOffset(next_piece, ChunkAt(0)) + next_piece.begin;
    }
    return static_cast<const char*>(output_.Address(offset));
  }

  int64_t OutputOffset(const Piece& piece, const Chunk& chunk) const {
    return piece.image * p_.output.strides[0] + chunk.first * p_.output.strides[1];
  }

  // Pixels [from, end): where they stand, or copied without those that are not finite.
  Block BlockOf(const Piece& piece, const Chunk& chunk, int64_t from, int64_t end, const JointScratch& scratch) const {
    const int64_t offset = OutputOffset(piece, chunk), stride = p_.output.strides[1];
    const float* direct = output_.Direct(offset, 1);
    if (direct != nullptr) return {direct, stride};
    output_.CopyRows(offset + from, stride, chunk.outputs, end - from, scratch.block, s_.block_pitch_);
    return {scratch.block - from, s_.block_pitch_};
  }

  // A panel's products with the terms of a chunk. The last panel of a piece ends with it.
  void MultiplyPanel(const Piece& piece, int64_t number, int64_t next, Block block, const char* ahead,
                     const JointScratch& scratch) const {
    const Chunk chunk = ChunkAt(number);
    const int64_t lanes = s_.panel_lanes(), count = std::min(lanes, piece.end - piece.first);
    const int64_t begin = std::min(next, piece.end - count);
    const kernels::GatherRun run{0, 0, chunk.outputs};
    int64_t places[kernels::GatherTiles::kMostRows];
    for (int64_t r = 0; r < kernels::GatherTiles::kMostRows; ++r) places[r] = r * s_.product_pitch_;
    kernels::GatherOperands operands{};
    operands.runs = &run;
    operands.run_count = 1;
    operands.result_offsets = places;
    operands.b = block.at + begin;
    operands.b_step = block.pitch;
    if (count < lanes) {
      operands.b = scratch.ends;
      operands.b_step = lanes;
      CopyEnds(block, begin, count, chunk.outputs, lanes, scratch.ends);
    }
    const packing::Asks asks(chunk.outputs, panels_.count(), packing::AskTimes(chunk.outputs));
    const int64_t vectors = base::CeilDiv(count, s_.tiles_.vector_lanes);
    for (int64_t panel = 0; panel < panels_.count(); ++panel) {
      const int64_t first = panels_.first(panel), rows = panels_.rows(panel);
      operands.a = packed_ + chunk.first * s_.columns_ + first * chunk.outputs;
      operands.a_step = rows;
      operands.c = scratch.products + first * s_.product_pitch_ + next - piece.first;
      asks.Assign(panel, ahead, p_.output.strides[1] * output_.element_bytes(), &operands);
      s_.tiles_.tiles[vectors - 1].adjacent[rows](operands, number > 0);
    }
  }

  // Pixels that fill no vector, and zeros behind them.
  static void CopyEnds(Block block, int64_t begin, int64_t count, int64_t rows, int64_t lanes, float* to) {
    std::memset(to, 0, static_cast<size_t>(rows * lanes) * sizeof(float));
    kernels::Lines().copy_rows(block.at + begin, block.pitch, rows, count, to, lanes);
  }

  void AddToSums(const Piece& piece, const Chunk& chunk, int64_t begin, int64_t end, Block block,
                 const JointScratch& scratch) const {
    const int64_t whole = (end - begin) / s_.lanes_ * s_.lanes_, rest = end - begin - whole;
    kernels::DotsCall call{};
    call.vectors = whole / s_.lanes_;
    call.a = block.at + begin;
    call.a_row = block.pitch;
    call.b = scratch.slab + begin - piece.begin;
    if (call.vectors > 0) AddVectors(chunk, call, scratch);
    if (rest == 0) return;
    CopyEnds(block, begin + whole, rest, chunk.outputs, s_.lanes_, scratch.ends);
    call.vectors = 1;
    call.a = scratch.ends;
    call.a_row = s_.lanes_;
    call.b += whole;
    AddVectors(chunk, call, scratch);
  }

  // Every tile asks for two of the channels that come next.
  void AddVectors(const Chunk& chunk, kernels::DotsCall call, const JointScratch& scratch) const {
    const int most_rows = kernels::Dots().most_rows();
    const float* const first_row = call.a;
    call.row_sums_row = call.sums_row = s_.results() * s_.lanes_;
    call.ahead_step[0] = call.ahead_step[1] = s_.lanes_ * static_cast<int64_t>(sizeof(float));
    for (int64_t k = 0; k < chunk.outputs; k += most_rows) {
      const int64_t rows = std::min<int64_t>(most_rows, chunk.outputs - k);
      const packing::DotTiles tiles = s_.TilesOf(rows);
      call.a = first_row + k * call.a_row;
      for (int64_t tile = 0; tile < tiles.count(); ++tile) {
        call.b_offsets = scratch.tap_offsets + tiles.first(tile);
        call.sums = scratch.sums + (k * s_.results() + tiles.first(tile)) * s_.lanes_;
        call.row_sums = scratch.sums + (k * s_.results() + s_.columns_) * s_.lanes_;
        for (int i = 0; i < 2; ++i) {
          const int64_t coming = std::min(k + rows + 2 * tile + i, chunk.outputs - 1);
          call.ahead[i] = reinterpret_cast<const char*>(first_row + coming * call.a_row);
        }
        tiles.kernel(tile)(call);
      }
    }
  }

  // Adds the products to the input positions that they belong to, and stores the piece's.
  void StoreInput(const Piece& piece, const JointScratch& scratch) const {
    const int64_t stride = g_.stride[2], channel = stride * s_.phase_floats_, count = piece.end - piece.first;
    std::memset(scratch.phases, 0, static_cast<size_t>(s_.inputs_ * channel) * sizeof(float));
    const int64_t lanes = s_.panel_lanes(), last = (count - 1) / lanes * lanes, rest = count - last;
    const int64_t shift = count < lanes ? 0 : lanes - rest;  // in the last panel, whose lanes begin earlier
    kernels::Lines().add_rows(scratch.products, s_.product_pitch_, s_.columns_, last, scratch.phases,
                              scratch.sum_offsets);
    kernels::Lines().add_rows(scratch.products + last + shift, s_.product_pitch_, s_.columns_, rest,
                              scratch.phases + last, scratch.sum_offsets);
    if (piece.low >= piece.high) return;
    const auto& strides = p_.input_result.strides;
    for (int64_t c = 0; c < s_.inputs_; ++c) {
      input_result_.StorePhases(piece.image * strides[0] + c * strides[1] + piece.low * strides[4], strides[4],
                                scratch.phases + c * channel, s_.phase_floats_, stride, piece.low - piece.origin,
                                piece.high - piece.low, scratch.line);
    }
  }

  // Adds up the jobs' sums of a chunk, in their order, and stores them.
  void Finish(const Chunk& chunk) const {
    const int64_t first = chunk.first * s_.results();
    float* sums = Partial(0) + first;
    for (int64_t job = 1; job < s_.jobs_; ++job) {
      const float* more = Partial(job) + first;
      for (int64_t i = 0; i < chunk.outputs * s_.results(); ++i) sums[i] += more[i];
    }
    bool nonfinite = false;
    for (int64_t k = chunk.first; k < chunk.first + chunk.outputs; ++k, sums += s_.results()) {
      nonfinite = nonfinite || kernels::Lines().any_nonfinite(sums, s_.columns_);
      StoreKernels(weight_result_, p_, k * p_.weight_result.strides[0], s_.inputs_, sums);
      if (s_.bias_ && !again_) StoreBias(p_, b_, k, sums[s_.columns_]);
    }
    if (nonfinite) nonfinite_->store(1, std::memory_order_relaxed);
  }

  const JointStep& s_;
  const ConvProblem& p_;
  const Geometry& g_;
  const Buffers& b_;
  float *packed_, *partial_;
  plan::Shares scratch_;
  LineReader input_, output_, weight_;
  LineWriter input_result_, weight_result_;
  packing::RowPanels panels_;  // of columns
  bool again_ = false;         // for the weights alone
  std::atomic<int>* nonfinite_;
};

void JointStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                    void* workspace) const noexcept {
  JointRun(*this, problem, buffers, static_cast<float*>(ledger.Fetch(workspace, packed_handle_)),
           static_cast<float*>(ledger.Fetch(workspace, partial_handle_)), ledger.Fetch(workspace, flag_handle_),
           ledger.FetchEach(workspace, scratch_handle_))
      .Run();
}

}  // namespace canopy::conv::joint_columns
