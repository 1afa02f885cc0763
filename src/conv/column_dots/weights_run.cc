// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "conv/column_dots/numbers.h"
#include "conv/column_dots/weights_step.h"
#include "conv/elements.h"
#include "conv/kernel_rows.h"
#include "conv/nonfinite.h"
#include "conv/packing/dot_tiles.h"
#include "exec/pool.h"
#include "kernels/ask.h"
#include "kernels/dots/contract.h"
#include "kernels/streams.h"

namespace canopy::conv::column_dots {
namespace {

constexpr int64_t kLinesAhead = 8;  // of what is not asked for meanwhile: from there on the processor foresees them

}  // namespace

// One run of one step: its buffers with the plan's numbers. T is what is multiplied.
template <class T>
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch,
             float* partial, void* flag)
      : s_(step),
        p_(problem),
        b_(buffers),
        scratch_(scratch),
        partial_(partial),
        input_(b_.input, p_.input.dtype, p_.rule),
        output_(b_.output, p_.output.dtype, p_.rule),
        result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        nonfinite_(new (flag) std::atomic<int>(0)) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    if (!s_.zeros_) return RunJobs(serial);
    const auto take_finite = [this] {
      keep_bias_ = true;  // it is right already
      input_.TakeFiniteOnly();
      output_.TakeFiniteOnly();
    };
    RunPastNonfinite(
        p_, b_, serial, *nonfinite_, [&] { RunJobs(serial); }, take_finite);
  }

 private:
  // Channels of the tensor.
  struct Block {
    int64_t group, first, outputs;
  };

  // Some output channels of a block in a part of a strip.
  struct Piece {
    int64_t first_row, rows;  // output channels, from the block's first
    int64_t line, lines;      // of the strip
    int64_t pixel, pixels;    // of each line
    int64_t offset;           // of the first, in elements of output
  };

  // The input under the strip that comes next, asked for plane by plane while this one is multiplied.
  struct InputAhead {
    int64_t offset;  // of its first row in the group's first channel, before its first depth tap, in elements
    int64_t depth;   // under that
    int64_t bytes;   // of its rows in a plane
    int64_t plane = 0, asked = 0;
  };

  void RunJobs(bool serial) const {
    const int64_t blocks = s_.jobs(p_.geometry.groups), segments = s_.segments_;
    exec::ParallelFor(blocks * segments, serial, [&](int64_t index, int worker) {
      Job(index / segments, index % segments, s_.ScratchAt(scratch_.Of(worker), nullptr));
    });
    exec::ParallelFor(blocks, serial, [&](int64_t block, int) { Finish(block); });
  }

  Block BlockAt(int64_t index) const {
    const int64_t group = index / s_.output_blocks_, first = index % s_.output_blocks_ * s_.output_block_;
    return {group, group * s_.outputs_ + first, std::min(s_.output_block_, s_.outputs_ - first)};
  }

  // Piece `number` of a strip, those of a tile of output channels one after another.
  Piece PieceAt(const Block& block, const packing::Strip& strip, int64_t number) const {
    const auto& strides = p_.output.strides;
    const int64_t across = Across(strip), a_tile = across * Down(strip);
    Piece piece;
    piece.first_row = number / a_tile * s_.rows_;
    piece.rows = std::min(s_.rows_, block.outputs - piece.first_row);
    piece.line = number % a_tile / across * s_.piece_lines_;
    piece.lines = std::min(s_.piece_lines_, strip.rows - piece.line);
    piece.pixel = number % across * s_.piece_pixels_;
    piece.pixels = std::min(s_.piece_pixels_, strip.columns - piece.pixel);
    piece.offset = strip.image * strides[0] + (block.first + piece.first_row) * strides[1] + strip.depth * strides[2] +
                   (strip.row + piece.line) * strides[3] + strip.column + piece.pixel;
    return piece;
  }

  // Pieces of a strip's lines and of its rows.
  int64_t Across(const packing::Strip& strip) const { return base::CeilDiv(strip.columns, s_.piece_pixels_); }
  int64_t Down(const packing::Strip& strip) const { return base::CeilDiv(strip.rows, s_.piece_lines_); }

  // [output channel][column], the bias gradient behind a channel's columns.
  float* Partial(int64_t block, int64_t segment) const {
    return partial_ + (block * s_.segments_ + segment) * s_.output_block_ * s_.results();
  }

  void Job(int64_t block_index, int64_t segment, const WeightsScratch& scratch) const {
    const Block block = BlockAt(block_index);
    const int64_t vectors = s_.sum_vectors(), strips = s_.strips_.count();
    const int64_t begin = segment * strips / s_.segments_, end = (segment + 1) * strips / s_.segments_;
    T* const slab = static_cast<T*>(scratch.slab);
    std::fill(slab, slab + s_.slab_elements(), T{0});
    s_.slab_.ListTaps(p_.geometry, s_.inputs_, scratch.tap_offsets);
    std::memset(scratch.sums, 0, static_cast<size_t>(block.outputs * vectors * s_.lanes_) * sizeof(float));
    if (s_.sums_) std::fill(scratch.biases, scratch.biases + block.outputs, 0.0f);
    for (int64_t index = begin; index < end; ++index) {
      const packing::Strip strip = s_.strips_.At(index), next = s_.strips_.At(std::min(index + 1, end - 1));
      input_.FillSlab(s_.slab_, p_, strip, block.group * s_.inputs_, s_.inputs_, scratch.line, slab);
      const int64_t count = base::CeilDiv(block.outputs, s_.rows_) * Down(strip) * Across(strip);
      InputAhead input = AheadOf(block, next);
      const auto at = [&](int64_t number) {
        return number < count ? PieceAt(block, strip, number) : PieceAt(block, next, (number - count) % count);
      };
      Piece piece = at(0), coming = at(1);
      for (int64_t number = 0; number < count; ++number) {
        const Piece later = at(number + 2);
        LookUp(later);
        AddPiece(piece, coming, scratch, &input);
        piece = coming;
        coming = later;
      }
    }
    float* to = Partial(block_index, segment);
    if (!s_.sums_) return kernels::Dots().reduce(scratch.sums, block.outputs * vectors, to);
    for (int64_t row = 0; row < block.outputs; ++row, to += s_.results()) {
      kernels::Dots().reduce(scratch.sums + row * vectors * s_.lanes_, vectors, to);
      to[vectors] = scratch.biases[row];
    }
  }

  // Requests for what lies in a page that the processor has not looked up are dropped, so each page is asked for early,
  // for the look-up's sake.
  void LookUp(const Piece& piece) const {
    for (int64_t r = 0; r < piece.rows; ++r) {
      const int64_t first = piece.offset + r * p_.output.strides[1];
      kernels::Ask(output_.Address(first));
      kernels::Ask(output_.Address(first + (piece.lines - 1) * p_.output.strides[3] + piece.pixels - 1));
    }
  }

  void AddPiece(const Piece& piece, const Piece& next, const WeightsScratch& scratch, InputAhead* input) const {
    const auto& strides = p_.output.strides;
    if (s_.sums_) AddBiases(piece, scratch.biases + piece.first_row);
    kernels::DotsCallOf<T> call{};
    call.lines = piece.lines;
    call.b = static_cast<const T*>(scratch.slab) + piece.line * s_.slab_.pitch() + piece.pixel;
    call.b_line = s_.slab_.pitch();
    call.a = output_.InPlace(piece.offset);
    call.a_row = strides[1];
    call.a_line = strides[3];
    const int64_t whole = call.a == nullptr ? 0 : piece.pixels / s_.vector_pixels() * s_.vector_pixels();
    call.vectors = whole / s_.vector_pixels();
    if (call.a != nullptr && s_.masks()) call.rest = piece.pixels - whole;
    if (call.vectors + call.rest > 0) Multiply(piece, next, call, scratch, input);
    if (whole + call.rest == piece.pixels) return;
    T* const rows = static_cast<T*>(scratch.rows);
    call.vectors = base::CeilDiv(piece.pixels - whole, s_.vector_pixels());
    call.a = rows;
    call.a_line = call.vectors * s_.vector_pixels();
    call.a_row = piece.lines * call.a_line;
    call.b += whole;
    CopyLines(piece, whole, call.a_line, rows);
    Multiply(piece, next, call, scratch, input);
  }

  InputAhead AheadOf(const Block& block, const packing::Strip& strip) const {
    const Geometry& g = p_.geometry;
    const auto& strides = p_.input.strides;
    const int64_t first = strip.row * g.stride[1] - g.pad_begin[1], begin = std::max<int64_t>(0, first);
    const int64_t end = std::min(g.input_size[1], first + s_.slab_.rows() * g.stride[1]);
    const int64_t depth = strip.depth * g.stride[0] - g.pad_begin[0];
    return {strip.image * strides[0] + block.group * s_.inputs_ * strides[1] + depth * strides[2] + begin * strides[3],
            depth, (end - begin) * strides[3] * numerics::ElementBytes(p_.input.dtype)};
  }

  // The call's second request a vector.
  void AskForInput(InputAhead* input, kernels::DotsCallOf<T>* call) const {
    const Geometry& g = p_.geometry;
    const int64_t planes = s_.inputs_ * g.kernel[0], depth_tap = input->plane % g.kernel[0];
    if (input->plane >= planes || input->bytes <= 0) return;
    const int64_t depth = input->depth + depth_tap * g.dilation[0];
    if (depth >= 0 && depth < g.input_size[0]) {
      const auto& strides = p_.input.strides;
      const int64_t plane = input->plane / g.kernel[0] * strides[1] + depth_tap * g.dilation[0] * strides[2];
      call->ahead[1] = static_cast<const char*>(input_.Address(input->offset + plane)) + input->asked;
      call->ahead_step[1] = kernels::kMemoryLine;
      call->ahead_line[1] = (call->vectors + (call->rest > 0 ? 1 : 0)) * kernels::kMemoryLine;
      input->asked += call->lines * call->ahead_line[1];
      if (input->asked < input->bytes) return;
    }
    input->asked = 0;
    ++input->plane;
  }

  void AddBiases(const Piece& piece, float* sums) const {
    const auto& strides = p_.output.strides;
    for (int64_t r = 0; r < piece.rows; ++r) {
      sums[r] += output_.SumLines(piece.offset + r * strides[1], strides[3], piece.lines, piece.pixels);
    }
  }

  // What its lines hold from their pixel `first` on, and zeros: [output channel][line], so many elements apart.
  void CopyLines(const Piece& piece, int64_t first, int64_t apart, T* to) const {
    const auto& strides = p_.output.strides;
    const int64_t pixels = piece.pixels - first, rows = piece.rows * piece.lines;
    for (int64_t l = 0; l < piece.lines; ++l) {
      output_.CopyRows(piece.offset + l * strides[3] + first, strides[1], piece.rows, pixels, to + l * apart,
                       piece.lines * apart);
    }
    for (int64_t i = 0; i < rows && pixels < apart; ++i) std::fill(to + i * apart + pixels, to + (i + 1) * apart, T{0});
  }

  // A piece's output channels by all columns.
  void Multiply(const Piece& piece, const Piece& next, kernels::DotsCallOf<T> call, const WeightsScratch& scratch,
                InputAhead* input) const {
    const int64_t bytes = output_.element_bytes();
    const packing::DotTilesOf<T> tiles(kernels::DotsOf<T>(), piece.rows, s_.taps_, s_.summing());
    const auto coming = [&](int64_t row) {
      return static_cast<const char*>(output_.Address(next.offset + row * p_.output.strides[1]));
    };
    // Every tile asks for an output channel of the next piece, or two where tiles are few; what is left asks again.
    const int64_t at_once = tiles.count() < next.rows ? 2 : 1;
    for (int64_t r = at_once * tiles.count(); r < next.rows; ++r) {
      for (int64_t line = 0; line < kLinesAhead; ++line) kernels::Ask(coming(r) + line * kernels::kMemoryLine);
    }
    float* const sums = scratch.sums + piece.first_row * s_.sum_vectors() * s_.lanes_;
    call.row_sums_row = call.sums_row = s_.sum_vectors() * s_.lanes_;
    call.row_sums = sums + s_.taps_ * s_.lanes_;
    for (int64_t tile = 0; tile < tiles.count(); ++tile) {
      call.b_offsets = scratch.tap_offsets + tiles.first(tile);
      call.sums = sums + tiles.first(tile) * s_.lanes_;
      const int64_t asked = std::min(tile * at_once, next.rows - 1);
      call.ahead[0] = coming(asked);
      call.ahead[1] = coming(std::min(asked + at_once, next.rows) - 1);
      call.ahead_step[0] = call.ahead_step[1] = s_.vector_pixels() * bytes;
      call.ahead_line[0] = call.ahead_line[1] = p_.output.strides[3] * bytes;
      if (at_once == 1) AskForInput(input, &call);
      tiles.kernel(tile)(call);
    }
  }

  // Adds up the segments of a block, in their order, and stores them.
  void Finish(int64_t block_index) const {
    const Block block = BlockAt(block_index);
    const int64_t floats = block.outputs * s_.results();
    float* sums = Partial(block_index, 0);
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      const float* more = Partial(block_index, segment);
      for (int64_t i = 0; i < floats; ++i) sums[i] += more[i];
    }
    const float* from = sums;
    bool nonfinite = false;
    for (int64_t o = block.first; o < block.first + block.outputs; ++o) {
      nonfinite = nonfinite || kernels::Lines().any_nonfinite(from, s_.taps_);
      from = StoreKernels(result_, p_, o * p_.weight_result.strides[0], s_.inputs_, from);
      if (!s_.bias_) continue;
      if (!keep_bias_) StoreBias(p_, b_, o, *from);
      ++from;
    }
    if (nonfinite) nonfinite_->store(1, std::memory_order_relaxed);
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  plan::Shares scratch_;
  float* partial_;
  Numbers<T> input_, output_;
  LineWriter result_;
  bool keep_bias_ = false;
  std::atomic<int>* nonfinite_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  const ConvProblem lines = InLines(problem);
  const auto run = [&](auto element) {
    WeightsRun<decltype(element)>(*this, lines, buffers, ledger.FetchEach(workspace, scratch_handle_),
                                  static_cast<float*>(ledger.Fetch(workspace, partial_handle_)),
                                  ledger.Fetch(workspace, flag_handle_))
        .Run();
  };
  pairs() ? run(uint16_t{}) : run(float{});
}

}  // namespace canopy::conv::column_dots
