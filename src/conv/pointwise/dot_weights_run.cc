// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/pointwise/dot_weights_step.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"
#include "kernels/ask.h"
#include "kernels/streams.h"

namespace canopy::conv::pointwise {
namespace {

using base::CeilDiv;

constexpr int64_t kLinesAhead = 8;  // of a plane that is read next: from there on the processor foresees them

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class DotWeightsRun {
 public:
  DotWeightsRun(const DotWeightsStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch,
                float* partial)
      : s_(step),
        p_(problem),
        rows_(static_cast<const float*>(s_.outputs_are_rows_ ? buffers.output : buffers.input)),
        columns_(static_cast<const float*>(s_.outputs_are_rows_ ? buffers.input : buffers.output)),
        row_strides_((s_.outputs_are_rows_ ? p_.output : p_.input).strides),
        column_strides_((s_.outputs_are_rows_ ? p_.input : p_.output).strides),
        result_(buffers.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        scratch_(scratch),
        partial_(partial) {}

  void Run() const {
    const int64_t parts = s_.parts_, segments = s_.segments_, groups = p_.geometry.groups;
    const bool serial = s_.work_ < kSerialWork;
    exec::ParallelFor(groups * segments * parts, serial, [&](int64_t index, int worker) {
      const int64_t first = index % parts * s_.part_;
      Job(index / parts, {first, std::min(s_.part_, s_.columns_ - first)}, s_.ScratchAt(scratch_.Of(worker), nullptr));
    });
    exec::ParallelFor(groups, serial, [&](int64_t group, int) { Finish(group); });
  }

 private:
  // The same pixels of some channels.
  struct Planes {
    const float* at;
    int64_t stride;
  };
  struct Range {
    int64_t first, count;
  };

  int64_t Results() const { return s_.rows_ * s_.columns_; }

  // Some columns of a group's segment.
  void Job(int64_t segment, const Range& columns, const DotWeightsStep::Scratch& scratch) const {
    const int64_t pieces = s_.pieces_.count(), begin = segment % s_.segments_ * pieces / s_.segments_;
    const int64_t end = (segment % s_.segments_ + 1) * pieces / s_.segments_;
    for (int64_t piece = begin; piece < end; ++piece) {
      AddPiece(segment / s_.segments_, piece, piece == begin, columns, scratch);
    }
    dots_.reduce(scratch.sums, s_.rows_ * columns.count, partial_ + segment * Results() + columns.first * s_.rows_);
  }

  void AddPiece(int64_t group, int64_t piece, bool first_piece, const Range& range,
                const DotWeightsStep::Scratch& scratch) const {
    const int64_t image = s_.pieces_.image(piece), first = s_.pieces_.first(piece), pixels = s_.pieces_.size(piece);
    const Planes rows{rows_ + image * row_strides_[0] + group * s_.rows_ * row_strides_[1] + first, row_strides_[1]};
    const Planes columns{
        columns_ + image * column_strides_[0] + (group * s_.columns_ + range.first) * column_strides_[1] + first,
        column_strides_[1]};
    const int64_t vectors = pixels / s_.lanes_, whole = vectors * s_.lanes_, rest = pixels - whole;
    if (vectors > 0) Multiply(rows, columns, range.count, vectors, first_piece, scratch);
    if (rest == 0) return;
    Fill({rows.at + whole, rows.stride}, s_.rows_, rest, scratch.rows);
    Fill({columns.at + whole, columns.stride}, range.count, rest, scratch.tails);
    Multiply({scratch.rows, s_.lanes_}, {scratch.tails, s_.lanes_}, range.count, 1, first_piece && vectors == 0,
             scratch);
  }

  // Less than a vector of each channel, and zeros.
  void Fill(const Planes& from, int64_t channels, int64_t pixels, float* to) const {
    std::memset(to, 0, static_cast<size_t>(channels * s_.lanes_) * sizeof(float));
    kernels::Lines().copy_rows(from.at, from.stride, channels, pixels, to, s_.lanes_);
  }

  // All rows by `columns_count` columns.
  void Multiply(const Planes& rows, const Planes& columns, int64_t columns_count, int64_t vectors, bool first_piece,
                const DotWeightsStep::Scratch& scratch) const {
    for (int64_t c = 0; c < s_.block_; ++c) scratch.offsets[c] = c * columns.stride;
    kernels::DotsCall call{};
    call.b_offsets = scratch.offsets;
    call.vectors = vectors;
    call.first = first_piece;
    call.sums = scratch.sums;
    for (int64_t c = 0, count; c < columns_count; c += count) {
      count = std::min(s_.block_, columns_count - c);
      const Planes block{columns.at + c * columns.stride, columns.stride};
      MultiplyBlock(rows, block, count, std::min(s_.block_, columns_count - c - count), &call);
    }
  }

  // All rows by `count` columns, which `coming` others follow.
  void MultiplyBlock(const Planes& rows, const Planes& columns, int64_t count, int64_t coming,
                     kernels::DotsCall* call) const {
    const auto next = [&](int64_t column) {
      return reinterpret_cast<const char*>(columns.at + (count + column) * columns.stride);
    };
    // Every tile asks for a coming column, or two where tiles are few. Too much at once would hold up what is read now.
    const int64_t tiles = CeilDiv(s_.rows_, s_.tile_);
    for (int64_t i = 2 * tiles; i < coming; ++i) {
      for (int64_t line = 0; line < kLinesAhead; ++line) kernels::Ask(next(i) + line * kernels::kMemoryLine);
    }
    call->b = columns.at;
    call->a_row = rows.stride;
    call->sums_row = count * s_.lanes_;
    call->ahead_step[0] = call->ahead_step[1] = s_.lanes_ * static_cast<int64_t>(sizeof(float));
    int64_t asked = 0;
    for (int64_t r = 0, tile; r < s_.rows_; r += tile) {
      tile = std::min(s_.tile_, s_.rows_ - r);
      call->a = rows.at + r * rows.stride;
      float* const coming_sums = call->sums + tile * call->sums_row;
      for (int i = 0; i < 2; ++i) {
        const bool column = asked < coming && (i == 0 || tiles < s_.block_);
        call->ahead[i] = column ? next(asked++) : reinterpret_cast<const char*>(coming_sums);
      }
      dots_.dots[tile][count](*call);
      call->sums = coming_sums;
    }
  }

  // Adds up the segments of a group, in their order.
  void Finish(int64_t group) const {
    float* sums = partial_ + group * s_.segments_ * Results();
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      for (int64_t i = 0; i < Results(); ++i) sums[i] += sums[segment * Results() + i];
    }
    const auto& strides = p_.weight_result.strides;
    const int64_t row_stride = strides[s_.outputs_are_rows_ ? 0 : 1];
    const int64_t column_stride = strides[s_.outputs_are_rows_ ? 1 : 0];
    const int64_t first = group * p_.geometry.group_output_channels() * strides[0];
    for (int64_t c = 0; c < s_.columns_; c += s_.block_) {
      const int64_t count = std::min(s_.block_, s_.columns_ - c);
      const kernels::Segment whole{0, 0, static_cast<int32_t>(count)};
      for (int64_t r = 0; r < s_.rows_; ++r) {
        result_.Store(first + r * row_stride + c * column_stride, &whole, 1, column_stride,
                      sums + c * s_.rows_ + r * count);
      }
    }
  }

  const DotWeightsStep& s_;
  const kernels::DotsKernels& dots_ = kernels::Dots();
  const ConvProblem& p_;
  const float *rows_, *columns_;
  const std::array<int64_t, 5>&row_strides_, &column_strides_;
  LineWriter result_;
  plan::Shares scratch_;
  float* partial_;
};

void DotWeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                         void* workspace) const noexcept {
  DotWeightsRun(*this, problem, buffers, ledger.FetchEach(workspace, scratch_handle_),
                static_cast<float*>(ledger.Fetch(workspace, partial_handle_)))
      .Run();
}

}  // namespace canopy::conv::pointwise
