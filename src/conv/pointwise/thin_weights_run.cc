// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/pointwise/thin_weights_step.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"
#include "kernels/streams.h"

namespace canopy::conv::pointwise {
namespace {

constexpr int64_t kLinesAhead = 8;  // of a plane that is read next: from there on the processor foresees them

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class ThinWeightsRun {
 public:
  ThinWeightsRun(const ThinWeightsStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch,
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
    const int64_t segments = s_.segments_, groups = p_.geometry.groups;
    const bool serial = s_.work_ < kSerialWork;
    exec::ParallelFor(groups * segments, serial, [&](int64_t index, int worker) {
      const ThinWeightsStep::Scratch scratch = s_.ScratchAt(scratch_.Of(worker), nullptr);
      Job(index / segments, index % segments, scratch);
    });
    exec::ParallelFor(groups, serial, [&](int64_t group, int) { Finish(group); });
  }

 private:
  // The same pixels of some channels.
  struct Planes {
    const float* at;
    int64_t stride;
  };

  int64_t Results() const { return s_.rows_ * s_.columns_; }

  void Job(int64_t group, int64_t segment, const ThinWeightsStep::Scratch& scratch) const {
    std::memset(scratch.sums, 0, static_cast<size_t>(Results() * s_.lanes_) * sizeof(float));
    const int64_t pieces = s_.pieces_.count(), end = (segment + 1) * pieces / s_.segments_;
    for (int64_t piece = segment * pieces / s_.segments_; piece < end; ++piece) AddPiece(group, piece, scratch);
    kernels::Dots().reduce(scratch.sums, Results(), partial_ + (group * s_.segments_ + segment) * Results());
  }

  void AddPiece(int64_t group, int64_t piece, const ThinWeightsStep::Scratch& scratch) const {
    const int64_t image = s_.pieces_.image(piece), first = s_.pieces_.first(piece), pixels = s_.pieces_.size(piece);
    const Planes rows{rows_ + image * row_strides_[0] + group * s_.rows_ * row_strides_[1] + first, row_strides_[1]};
    const Planes columns{columns_ + image * column_strides_[0] + group * s_.columns_ * column_strides_[1] + first,
                         column_strides_[1]};
    const int64_t vectors = pixels / s_.lanes_, whole = vectors * s_.lanes_, rest = pixels - whole;
    if (vectors > 0) Multiply(rows, columns, vectors, scratch);
    if (rest == 0) return;
    Fill({rows.at + whole, rows.stride}, s_.rows_, rest, scratch.rows);
    Fill({columns.at + whole, columns.stride}, s_.columns_, rest, scratch.tails);
    Multiply({scratch.rows, s_.lanes_}, {scratch.tails, s_.lanes_}, 1, scratch);
  }

  // Less than a vector of each channel, and zeros.
  void Fill(const Planes& from, int64_t channels, int64_t pixels, float* to) const {
    std::memset(to, 0, static_cast<size_t>(channels * s_.lanes_) * sizeof(float));
    kernels::Lines().copy_rows(from.at, from.stride, channels, pixels, to, s_.lanes_);
  }

  void Multiply(const Planes& rows, const Planes& columns, int64_t vectors,
                const ThinWeightsStep::Scratch& scratch) const {
    for (int64_t c = 0; c < s_.block_; ++c) scratch.offsets[c] = c * columns.stride;
    kernels::DotsCall call{};
    call.a = rows.at;
    call.a_row = rows.stride;
    call.b_offsets = scratch.offsets;
    call.vectors = vectors;
    call.sums_row = s_.columns_ * s_.lanes_;
    call.ahead[0] = call.ahead[1] = reinterpret_cast<const char*>(rows.at);
    for (int64_t c = 0, count; c < s_.columns_; c += count) {
      count = std::min(s_.block_, s_.columns_ - c);
      call.b = columns.at + c * columns.stride;
      call.sums = scratch.sums + c * s_.lanes_;
      const int64_t coming = std::min(count, s_.columns_ - c - count);
      const char* next = reinterpret_cast<const char*>(call.b + count * columns.stride);
      for (int64_t i = 0; i < coming; ++i, next += columns.stride * static_cast<int64_t>(sizeof(float))) {
        for (int64_t line = 0; line < kLinesAhead; ++line) __builtin_prefetch(next + line * kernels::kMemoryLine);
      }
      kernels::Dots().dots[s_.rows_][count](call);
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
    const kernels::Segment whole{0, 0, static_cast<int32_t>(s_.columns_)};
    const int64_t first = group * p_.geometry.group_output_channels() * strides[0];
    for (int64_t r = 0; r < s_.rows_; ++r) {
      result_.Store(first + r * row_stride, &whole, 1, column_stride, sums + r * s_.columns_);
    }
  }

  const ThinWeightsStep& s_;
  const ConvProblem& p_;
  const float *rows_, *columns_;
  const std::array<int64_t, 5>&row_strides_, &column_strides_;
  LineWriter result_;
  plan::Shares scratch_;
  float* partial_;
};

void ThinWeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                          void* workspace) const noexcept {
  ThinWeightsRun(*this, problem, buffers, ledger.FetchEach(workspace, scratch_handle_),
                 static_cast<float*>(ledger.Fetch(workspace, partial_handle_)))
      .Run();
}

}  // namespace canopy::conv::pointwise
