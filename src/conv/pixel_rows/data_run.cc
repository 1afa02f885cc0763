// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "conv/nonfinite.h"
#include "conv/pixel_rows/data_step.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"

namespace canopy::conv::pixel_rows {

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, float* packed, plan::Shares results)
      : s_(step),
        p_(problem),
        g_(problem.geometry),
        b_(buffers),
        packed_(packed),
        results_(results),
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
      Job(PieceAt(index), PieceAt(index + 1), results_.Of<float>(worker));
    });
    if (nonfinite) AddNonfiniteWeightTerms(p_, kBackwardData, b_, serial);
  }

 private:
  struct Piece {
    int64_t image, block, depth, row;  // of depths and rows the first
  };

  Piece PieceAt(int64_t index) const {
    const int64_t bands = s_.bands_, depths = s_.depth_blocks_, blocks = g_.groups * s_.blocks_;
    return {index / (bands * depths * blocks), index / (bands * depths) % blocks, index / bands % depths * s_.depths_,
            index % bands * s_.rows_};
  }

  int64_t Group(int64_t block) const { return block / s_.blocks_; }
  int64_t FirstInput(int64_t block) const { return block % s_.blocks_ * s_.block_; }
  int64_t Inputs(int64_t block) const { return std::min(s_.block_, s_.input_channels_ - FirstInput(block)); }

  // packed[block][slice][output channel][column][row][channel], zeros for channels that a block does not have.
  void PackBlock(int64_t block) const {
    const auto& strides = p_.weight.strides;
    float* to = packed_ + block * s_.BlockFloats();
    const kernels::Segment whole{0, 0, static_cast<int32_t>(Inputs(block))};
    for (const Slice& slice : s_.slices_) {
      for (int64_t k = 0; k < s_.output_channels_; ++k) {
        for (int64_t j = 0; j < g_.kernel[2]; ++j) {
          for (int64_t i = 0; i < slice.rows; ++i, to += s_.block_) {
            float line[kernels::RowSumKernels::kMostChannels + kernels::kLineSlack] = {};
            weight_.Fetch((Group(block) * s_.output_channels_ + k) * strides[0] + FirstInput(block) * strides[1] +
                              slice.depth * strides[2] + (g_.kernel[1] - 1 - slice.first_row - i) * strides[3] +
                              (g_.kernel[2] - 1 - j) * strides[4],
                          &whole, 1, strides[1], Inputs(block), line);
            std::fill(line + Inputs(block), line + s_.block_, 0.0f);
            std::copy(line, line + s_.block_, to);
          }
        }
      }
    }
  }

  // `next` is the piece that this thread serves next, as a rule.
  void Job(const Piece& piece, const Piece& next, float* results) const {
    std::memset(results, 0, static_cast<size_t>(s_.ResultFloats()) * sizeof(float));
    const int64_t depths = std::min(s_.depths_, g_.input_size[0] - piece.depth);
    const auto& slices = s_.slices_;
    for (int64_t k = 0; k < s_.output_channels_; k += s_.chunk_) {
      const int64_t k_after = k + s_.chunk_;
      const int64_t after = k_after < s_.output_channels_ ? SourceOf(piece, k_after, 0, slices.front())
                                                          : SourceOf(next, 0, 0, slices.front());
      for (int64_t z = 0; z < depths; ++z) {
        for (size_t i = 0; i < slices.size(); ++i) {
          const int64_t ahead = i + 1 < slices.size() ? SourceOf(piece, k, z, slices[i + 1])
                                : z + 1 < depths      ? SourceOf(piece, k, z + 1, slices.front())
                                                      : after;
          AddSlice(piece, k, z, slices[i], ahead, results);
        }
      }
    }
    for (int64_t z = 0; z < depths; ++z) Store(piece, z, results + z * s_.block_ * s_.rows_ * s_.pitch_);
  }

  // Of the output: the row, which may be in the padding, and the depth that meet a piece's first under a slice's first
  // tap, and the offset where that row of output channel k begins.
  int64_t RowOf(const Piece& piece, const Slice& slice) const {
    return piece.row + g_.pad_begin[1] - (g_.kernel[1] - 1) + slice.first_row;
  }
  int64_t DepthOf(const Piece& piece, int64_t z, const Slice& slice) const {
    return piece.depth + z + g_.pad_begin[0] - slice.depth * g_.dilation[0];
  }
  int64_t SourceOf(const Piece& piece, int64_t k, int64_t z, const Slice& slice) const {
    const auto& strides = p_.output.strides;
    return piece.image * strides[0] + (Group(piece.block) * s_.output_channels_ + k) * strides[1] +
           DepthOf(piece, z, slice) * strides[2] + RowOf(piece, slice) * strides[3];
  }

  // What begins at `ahead` is read next.
  void AddSlice(const Piece& piece, int64_t k, int64_t z, const Slice& slice, int64_t ahead, float* results) const {
    const auto& strides = p_.output.strides;
    const int64_t depth = DepthOf(piece, z, slice), row = RowOf(piece, slice);
    if (depth < 0 || depth >= g_.output_size[0]) return;
    const int64_t wanted = std::min(s_.rows_, g_.input_size[1] - piece.row) + slice.rows - 1;
    kernels::RowSumsCall call{};
    call.source_channel = strides[1];
    call.source_row = strides[3];
    call.sources = std::min(s_.chunk_, s_.output_channels_ - k);
    call.columns = g_.kernel[2];
    call.weights = packed_ + piece.block * s_.BlockFloats() + slice.packed + k * g_.kernel[2] * slice.rows * s_.block_;
    call.result_channel = s_.rows_ * s_.pitch_;
    call.result_row = s_.pitch_;
    call.row_begin = std::max<int64_t>(0, -row);
    call.row_end = std::min(wanted, g_.output_size[1] - row);
    if (call.row_begin >= call.row_end) return;
    const bool rows = call.row_begin == 0 && call.row_end == s_.rows_ + slice.rows - 1;
    AskForPages(ahead, call.sources);
    const int64_t offset = SourceOf(piece, k, z, slice), rows_before = (slice.rows - 1) * strides[3];
    const int64_t lanes = s_.kernels_.lanes;
    for (int64_t tile = 0; tile < s_.tiles_; ++tile) {
      const int64_t column = tile * lanes + g_.pad_begin[2] - (g_.kernel[2] - 1);
      call.lane_begin = -column;
      call.lane_end = g_.output_size[2] - column;
      const bool inside = call.lane_begin <= 0 && call.lane_end >= lanes + call.columns - 1;
      call.source = output_ + (offset + column) * bytes_;
      // Two tiles on, and of the rows only those that the band before did not read.
      constexpr int64_t kTiles = 2;
      const bool same_rows = tile + kTiles < s_.tiles_;
      const int64_t begin = same_rows ? offset : ahead - s_.tiles_ * lanes;
      call.ahead = output_ + (begin + kTiles * lanes + column + rows_before) * bytes_;
      call.result = results + z * s_.block_ * call.result_channel + tile * lanes;
      (!rows ? s_.kernels_.edge : inside ? s_.kernels_.inside : s_.kernels_.sides)[s_.block_][slice.rows](call);
    }
  }

  // Requests for what lies in a page that the processor has not looked up are dropped, so each page is asked for early,
  // for the look-up's sake.
  void AskForPages(int64_t offset, int64_t sources) const {
    for (int64_t k = 0; k < sources; ++k) {
      const char* at = output_ + (offset + k * p_.output.strides[1]) * bytes_;
      __builtin_prefetch(at);
      __builtin_prefetch(at + s_.rows_ * p_.output.strides[3] * bytes_);
    }
  }

  void Store(const Piece& piece, int64_t z, const float* results) const {
    const auto& strides = p_.input_result.strides;
    const kernels::Segment whole{0, 0, static_cast<int32_t>(g_.input_size[2])};
    const int64_t rows = std::min(s_.rows_, g_.input_size[1] - piece.row);
    for (int64_t c = 0; c < Inputs(piece.block); ++c) {
      const int64_t channel = Group(piece.block) * s_.input_channels_ + FirstInput(piece.block) + c;
      for (int64_t row = 0; row < rows; ++row) {
        result_.Store(piece.image * strides[0] + channel * strides[1] + (piece.depth + z) * strides[2] +
                          (piece.row + row) * strides[3],
                      &whole, 1, strides[4], results + (c * s_.rows_ + row) * s_.pitch_);
      }
    }
  }

  const DataStep& s_;
  const ConvProblem& p_;
  const Geometry& g_;
  const Buffers& b_;
  float* packed_;
  plan::Shares results_;
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
