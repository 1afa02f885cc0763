// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "conv/nonfinite.h"
#include "conv/pixel_rows/data_step.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"
#include "kernels/ask.h"

namespace canopy::conv::pixel_rows {

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, float* packed, plan::Shares scratch)
      : s_(step),
        p_(problem),
        g_(problem.geometry),
        b_(buffers),
        packed_(packed),
        scratch_(scratch),
        output_(static_cast<const char*>(buffers.output)),
        bytes_(numerics::ElementBytes(p_.output.dtype)),
        weight_(buffers.weight, p_.weight.dtype, p_.rule),
        result_(buffers.input_result, p_.input_result.dtype, p_.rule.saturate) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    const int64_t blocks = g_.groups * s_.blocks_;
    const auto pack = [&] { exec::ParallelFor(blocks, serial, [this](int64_t block, int) { PackBlock(block); }); };
    pack();
    // Weights are multiplied by 0 beside the edges.
    const bool nonfinite = kernels::Lines().any_nonfinite(packed_, blocks * s_.BlockFloats());
    if (nonfinite) {
      weight_.TakeFiniteOnly();
      pack();
    }
    exec::ParallelFor(g_.batch * blocks * s_.depth_blocks_ * s_.bands_, serial, [&](int64_t index, int worker) {
      Job(PieceAt(index), PieceAt(index + 1), scratch_.Of<float>(worker));
    });
    if (nonfinite) AddNonfiniteWeightTerms(p_, kBackwardData, b_, serial);
  }

 private:
  static constexpr int64_t kTogether = 8;  // slices

  struct Piece {
    int64_t image, block, depth, row;  // of depths and of a phase's rows the first
  };

  Piece PieceAt(int64_t index) const {
    const int64_t bands = s_.bands_, depths = s_.depth_blocks_, blocks = g_.groups * s_.blocks_;
    return {index / (bands * depths * blocks), index / (bands * depths) % blocks, index / bands % depths * s_.depths_,
            index % bands * s_.rows_};
  }

  int64_t Group(int64_t block) const { return block / s_.blocks_; }
  int64_t FirstInput(int64_t block) const { return block % s_.blocks_ * s_.block_; }
  int64_t Inputs(int64_t block) const { return std::min(s_.block_, s_.input_channels_ - FirstInput(block)); }

  // packed[block][depth tap][slice][output channel][column][row][channel], zeros for channels that a block does not
  // have.
  void PackBlock(int64_t block) const {
    float* to = packed_ + block * s_.BlockFloats();
    for (int64_t tap = 0; tap < g_.kernel[0]; ++tap) {
      for (const Slice& slice : s_.slices_) to = PackSlice(block, tap, slice, to);
    }
  }

  float* PackSlice(int64_t block, int64_t tap, const Slice& slice, float* to) const {
    const auto& strides = p_.weight.strides;
    const std::vector<AxisTap>&rows = slice.phase->rows.taps, &columns = slice.phase->columns.taps;
    const kernels::Segment whole{0, 0, static_cast<int32_t>(Inputs(block))};
    for (int64_t k = 0; k < s_.output_channels_; ++k) {
      const int64_t offset =
          (Group(block) * s_.output_channels_ + k) * strides[0] + FirstInput(block) * strides[1] + tap * strides[2];
      for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
        for (auto row = rows.rbegin() + slice.first_row; row != rows.rbegin() + slice.first_row + slice.rows; ++row) {
          float line[kernels::RowSumKernels::kMostChannels + kernels::kLineSlack] = {};
          weight_.Fetch(offset + row->kernel * strides[3] + column->kernel * strides[4], &whole, 1, strides[1],
                        Inputs(block), line);
          std::fill(line + Inputs(block), line + s_.block_, 0.0f);
          to = std::copy(line, line + s_.block_, to);
        }
      }
    }
    return to;
  }

  // `next` is the piece that this thread serves next, as a rule.
  void Job(const Piece& piece, const Piece& next, float* results) const {
    std::memset(results, 0, static_cast<size_t>(s_.ResultFloats()) * sizeof(float));
    const int64_t depths = std::min(s_.depths_, g_.input_size[0] - piece.depth);
    for (int64_t k = 0; !s_.slices_.empty() && k < s_.output_channels_; k += s_.chunk_) {
      const int64_t k_after = k + s_.chunk_;
      const int64_t after = k_after < s_.output_channels_ ? SourceOf(piece, k_after, 0, 0) : SourceOf(next, 0, 0, 0);
      for (int64_t z = 0; z < depths; ++z) {
        for (int64_t tap = 0; tap < g_.kernel[0]; ++tap) {
          const int64_t ahead = tap + 1 < g_.kernel[0] ? SourceOf(piece, k, z, tap + 1)
                                : z + 1 < depths       ? SourceOf(piece, k, z + 1, 0)
                                                       : after;
          AddDepth(piece, k, z, tap, ahead, results + z * s_.DepthFloats());
        }
      }
    }
    for (int64_t z = 0; z < depths; ++z) {
      Store(piece, z, results + z * s_.DepthFloats(), results + s_.ResultFloats());
    }
  }

  // Of the output: the depth, times the stride, that meets a piece's first under a depth tap, and the offset where the
  // first row that slices read of output channel k there begins.
  int64_t DepthOf(const Piece& piece, int64_t z, int64_t tap) const {
    return piece.depth + z + g_.pad_begin[0] - tap * g_.dilation[0];
  }
  int64_t SourceOf(const Piece& piece, int64_t k, int64_t z, int64_t tap) const {
    const auto& strides = p_.output.strides;
    return piece.image * strides[0] + (Group(piece.block) * s_.output_channels_ + k) * strides[1] +
           DepthOf(piece, z, tap) / g_.stride[0] * strides[2] + (piece.row + s_.first_row_) * strides[3];
  }

  // Calls of a slice, one for each tile.
  struct Calls {
    kernels::RowSumsCall call;
    const char* source;  // of tile 0
    float* result;
    int64_t column;  // of the output, that tile 0 begins at
    kernels::RowSumsFn inside, other;
  };

  // Adds to the results of a depth what a depth tap gives them. What begins at `ahead` is read next.
  void AddDepth(const Piece& piece, int64_t k, int64_t z, int64_t tap, int64_t ahead, float* results) const {
    const int64_t depth = DepthOf(piece, z, tap), row_step = p_.output.strides[3];
    if (depth < 0 || depth % g_.stride[0] != 0 || depth / g_.stride[0] >= g_.output_size[0]) return;
    AskForPages(ahead, std::min(s_.chunk_, s_.output_channels_ - k));
    const float* weights = packed_ + piece.block * s_.BlockFloats() + tap * s_.DepthTapFloats();
    const int64_t offset = SourceOf(piece, k, z, tap), lanes = s_.kernels_.lanes;
    const int64_t asked = s_.first_column_ + (s_.read_rows_ - s_.rows_) * row_step;
    // All slices of a few read a tile, of which the L1 holds as much, before the next.
    for (auto first = s_.slices_.begin(); first != s_.slices_.end();) {
      Calls calls[kTogether];
      int64_t count = 0;
      for (; first != s_.slices_.end() && count < kTogether; ++first) {
        count += MakeCalls(piece, *first, k, offset, weights, results, &calls[count]) ? 1 : 0;
      }
      for (int64_t tile = 0; tile < s_.tiles_; ++tile) {
        // Two tiles on, and of the rows only those that the band before did not read. All slices read what the first
        // asks for.
        constexpr int64_t kTiles = 2;
        const int64_t begin = tile + kTiles < s_.tiles_ ? offset : ahead - s_.tiles_ * lanes;
        calls[0].call.ahead = output_ + (begin + (kTiles + tile) * lanes + asked) * bytes_;
        for (int64_t i = 0; i < count; ++i) RunTile(tile * lanes, &calls[i]);
      }
    }
  }

  // Of a slice whose first row lies at `offset`; false: no row that it reads exists.
  bool MakeCalls(const Piece& piece, const Slice& slice, int64_t k, int64_t offset, const float* weights,
                 float* results, Calls* calls) const {
    const int64_t row = piece.row + slice.source_row;
    const int64_t wanted = std::min(s_.rows_, slice.phase->rows.walk - piece.row) + slice.rows - 1;
    kernels::RowSumsCall& call = calls->call;
    call.row_begin = std::max<int64_t>(0, -row);
    call.row_end = std::min(wanted, g_.output_size[1] - row);
    if (call.row_begin >= call.row_end) return false;
    call.source_channel = p_.output.strides[1];
    call.source_row = p_.output.strides[3];
    call.sources = std::min(s_.chunk_, s_.output_channels_ - k);
    call.columns = slice.columns;
    call.weights = weights + slice.packed + k * slice.columns * slice.rows * s_.block_;
    call.result_channel = s_.rows_ * s_.pitch_;
    call.result_row = s_.pitch_;
    call.asks = &slice == &s_.slices_.front();
    call.ahead = output_;
    calls->column = slice.source_column;
    calls->source = output_ + (offset + (slice.source_row - s_.first_row_) * call.source_row + calls->column) * bytes_;
    calls->result = results + slice.results;
    const bool rows = call.row_begin == 0 && call.row_end == s_.rows_ + slice.rows - 1;
    calls->inside = (rows ? s_.kernels_.inside : s_.kernels_.edge)[s_.block_][slice.rows];
    calls->other = (rows ? s_.kernels_.sides : s_.kernels_.edge)[s_.block_][slice.rows];
    return true;
  }

  // `lane` is the tile's first.
  void RunTile(int64_t lane, Calls* calls) const {
    kernels::RowSumsCall& call = calls->call;
    const int64_t column = lane + calls->column;
    call.lane_begin = -column;
    call.lane_end = g_.output_size[2] - column;
    call.source = calls->source + lane * bytes_;
    call.result = calls->result + lane;
    const bool inside = column >= 0 && call.lane_end >= s_.kernels_.lanes + call.columns - 1;
    (inside ? calls->inside : calls->other)(call);
  }

  // Requests for what lies in a page that the processor has not looked up are dropped, so each page is asked for early,
  // for the look-up's sake.
  void AskForPages(int64_t offset, int64_t sources) const {
    for (int64_t k = 0; k < sources; ++k) {
      const char* at = output_ + (offset + k * p_.output.strides[1]) * bytes_;
      kernels::Ask(at);
      kernels::Ask(at + s_.rows_ * p_.output.strides[3] * bytes_);
    }
  }

  void Store(const Piece& piece, int64_t z, const float* results, float* line) const {
    const auto& strides = p_.input_result.strides;
    const int64_t first = piece.row * s_.stride_rows_;
    for (int64_t c = 0; c < Inputs(piece.block); ++c) {
      const int64_t channel = Group(piece.block) * s_.input_channels_ + FirstInput(piece.block) + c;
      const int64_t offset =
          piece.image * strides[0] + channel * strides[1] + (piece.depth + z) * strides[2] + first * strides[3];
      for (int64_t phase = 0; phase < s_.stride_rows_; ++phase) {
        const float* lines = results + phase * s_.stride_columns_ * s_.PhaseFloats() + c * s_.rows_ * s_.pitch_;
        int64_t row = phase;  // of the band
        for (int64_t r = 0; r < s_.rows_ && first + row < g_.input_size[1]; ++r, row += s_.stride_rows_) {
          result_.StorePhases(offset + row * strides[3], strides[4], lines + r * s_.pitch_, s_.PhaseFloats(),
                              s_.stride_columns_, 0, g_.input_size[2], line);
        }
      }
    }
  }

  const DataStep& s_;
  const ConvProblem& p_;
  const Geometry& g_;
  const Buffers& b_;
  float* packed_;
  plan::Shares scratch_;
  const char* output_;
  int64_t bytes_;  // of an element of it
  LineReader weight_;
  LineWriter result_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  DataRun(*this, problem, buffers, static_cast<float*>(ledger.Fetch(workspace, packed_handle_)),
          ledger.FetchEach(workspace, scratch_handle_))
      .Run();
}

}  // namespace canopy::conv::pixel_rows
