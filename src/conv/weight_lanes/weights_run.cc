// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <new>

#include "base/checked_math.h"
#include "conv/nonfinite.h"
#include "conv/pair_reader.h"
#include "conv/tensor_lines.h"
#include "conv/weight_lanes/weights_step.h"
#include "exec/pool.h"
#include "kernels/streams.h"

namespace canopy::conv::weight_lanes {
namespace {

constexpr int64_t kChannelsAJob = 32;  // of output, packed

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, float* packed,
             plan::Shares scratch, void* flag)
      : s_(step),
        p_(problem),
        b_(buffers),
        packed_(packed),
        scratch_(scratch),
        input_(b_.input, p_.input.dtype, p_.rule),
        output_(b_.output, p_.output.dtype, p_.rule),
        output_pairs_(b_.output, p_.output.dtype, p_.rule),
        result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        nonfinite_(new (flag) std::atomic<int>(0)) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    ReadOutput(serial);
    // A zero of the padding makes a NaN of an output that is not finite and that the definition does not multiply.
    const bool absent = s_.zeros_ && nonfinite_->load(std::memory_order_relaxed) != 0;
    if (absent) {
      input_.TakeFiniteOnly();
      output_.TakeFiniteOnly();
      output_pairs_.TakeFiniteOnly();
      ReadOutput(serial);
    }
    exec::ParallelFor(p_.geometry.groups * s_.blocks_.count(), serial, [&](int64_t index, int worker) {
      Job(s_.blocks_.At(index), s_.ScratchAt(scratch_.Of(worker), nullptr));
    });
    if (absent) AddNonfiniteActivationTerms(p_, b_, serial);
  }

 private:
  bool InPlace() const { return s_.dot_rate_ == 0 && output_.Direct(0, 1) != nullptr; }

  // packed[channel][image][term], unless the output serves as it is; and whether all of it is finite.
  void ReadOutput(bool serial) const {
    const int64_t jobs = base::CeilDiv(p_.geometry.output_channels, kChannelsAJob);
    const bool in_place = InPlace();
    if (in_place && !s_.zeros_) return;
    exec::ParallelFor(jobs, serial, [&](int64_t job, int worker) {
      const WeightsScratch scratch = s_.ScratchAt(scratch_.Of(worker), nullptr);
      const int64_t end = std::min(p_.geometry.output_channels, (job + 1) * kChannelsAJob);
      bool nonfinite = false;
      for (int64_t channel = job * kChannelsAJob; channel < end; ++channel) {
        for (int64_t n = 0; n < s_.batch_; ++n) {
          const int64_t offset = n * p_.output.strides[0] + channel * p_.output.strides[1];
          float* to = packed_ + (channel * s_.batch_ + n) * s_.terms();
          const float* numbers = in_place ? output_.Direct(offset, 1) : to;
          if (s_.dot_rate_ > 0) {
            output_pairs_.FetchRun(offset, s_.pixels_, to);
            if (!s_.zeros_) continue;
            output_.FetchRun(offset, s_.pixels_, scratch.columns);
            numbers = scratch.columns;
          } else if (!in_place) {
            output_.FetchRun(offset, s_.pixels_, to);
          }
          nonfinite = nonfinite || kernels::Lines().any_nonfinite(numbers, s_.pixels_);
        }
      }
      if (nonfinite) nonfinite_->store(1, std::memory_order_relaxed);
    });
  }

  void Job(const Block& block, const WeightsScratch& scratch) const {
    if (!s_.whole_) ListRuns(block, scratch);
    for (int64_t n = 0; n < s_.batch_; ++n) MakeColumns(block, n, scratch);
    if (s_.dot_rate_ > 0) PairColumns(scratch.columns);
    Multiply(block, scratch);
  }

  // Where each of the block's runs begins in the slab, for the first pixel; and zeros for the padding.
  void ListRuns(const Block& block, const WeightsScratch& scratch) const {
    const Extent3& kernel = p_.geometry.kernel;
    const Extent3& dilation = p_.geometry.dilation;
    int64_t* offsets = scratch.run_offsets;
    for (int64_t c = 0; c < block.channels; ++c) {
      for (int64_t d = 0; d < kernel[0]; ++d) {
        for (int64_t h = 0; h < kernel[1]; ++h) {
          for (int64_t w = 0; w < kernel[2]; w += s_.run_) {
            *offsets++ = c * s_.slab_.floats() + s_.slab_.Position({d * dilation[0], h * dilation[1], w * dilation[2]});
          }
        }
      }
    }
    std::fill(scratch.slab, scratch.slab + block.channels * s_.slab_.floats(), 0.0f);
  }

  void MakeColumns(const Block& block, int64_t image, const WeightsScratch& scratch) const {
    const Geometry& g = p_.geometry;
    const int64_t step = s_.blocks_.lane_step();
    const int64_t offset =
        image * p_.input.strides[0] + (block.group * g.group_input_channels() + block.first) * p_.input.strides[1];
    float* to = scratch.columns + image * s_.pixels_ * step;
    if (s_.whole_) return input_.FetchRun(offset, block.lanes, to);
    for (int64_t c = 0; c < block.channels; ++c) {
      s_.slab_.Fill(input_, p_.input, offset + c * p_.input.strides[1], scratch.slab + c * s_.slab_.floats());
    }
    for (int64_t d = 0; d < g.output_size[0]; ++d) {
      for (int64_t h = 0; h < g.output_size[1]; ++h, to += g.output_size[2] * step) {
        kernels::Lines().copy_runs(scratch.slab + s_.slab_.Position({d * g.stride[0], h * g.stride[1], 0}),
                                   scratch.run_offsets, block.channels * s_.channel_runs_, s_.run_, g.output_size[2],
                                   g.stride[2], to, step);
      }
    }
  }

  // In place: a row of pairs never lies behind the rows that it is made of.
  void PairColumns(float* columns) const {
    const int64_t step = s_.blocks_.lane_step();
    float* to = columns;
    for (int64_t n = 0; n < s_.batch_; ++n) {
      const float* from = columns + n * s_.pixels_ * step;
      for (int64_t i = 0; i < s_.pixels_; i += 2, from += 2 * step, to += step) {
        kernels::Lines().zip_upper(from, i + 1 < s_.pixels_ ? from + step : nullptr, step, to);
      }
    }
  }

  void Multiply(const Block& block, const WeightsScratch& scratch) const {
    const int64_t panel = s_.blocks_.panel_lanes(), most = s_.blocks_.most_rows(), step = s_.blocks_.lane_step();
    const bool in_place = InPlace();
    const int64_t row = in_place ? p_.output.strides[1] : s_.batch_ * s_.terms();
    const int64_t image = in_place ? p_.output.strides[0] : s_.terms();
    const float* rows = in_place ? output_.Direct(0, 1) : packed_;
    int64_t row_offsets[kernels::GatherTiles::kMostRows], tile_offsets[kernels::GatherTiles::kMostRows];
    int64_t result_offsets[kernels::GatherTiles::kMostRows];
    for (int64_t r = 0; r < most; ++r) {
      row_offsets[r] = r * row;
      tile_offsets[r] = r * step;
      result_offsets[r] = r * p_.weight_result.strides[0];
    }
    for (int64_t n = 0; n < s_.batch_; ++n) scratch.runs[n] = {n * image, n * s_.terms() * step, s_.terms()};
    kernels::GatherOperands operands{};
    operands.runs = scratch.runs;
    operands.run_count = s_.batch_;
    operands.row_offsets = row_offsets;
    operands.b_step = step;
    const int64_t calls = base::CeilDiv(s_.output_channels_, most);
    for (int64_t call = 0; call < calls; ++call) {
      const int64_t first = call * s_.output_channels_ / calls, end = (call + 1) * s_.output_channels_ / calls;
      const int64_t channel = block.group * s_.output_channels_ + first;
      const int64_t offset = channel * p_.weight_result.strides[0] + block.first * s_.taps_;
      operands.a = rows + channel * row;
      float* direct = result_.Direct(offset, 1);
      for (int64_t lane = 0; lane < block.lanes; lane += panel) {
        const int64_t lanes = std::min(panel, block.lanes - lane);
        const bool here = direct != nullptr && lanes % s_.blocks_.vector_lanes() == 0;
        operands.b = scratch.columns + lane;
        operands.c = (here ? direct : scratch.tile) + lane;
        operands.result_offsets = here ? result_offsets : tile_offsets;
        operands.streams = here && s_.streams_ && kernels::AreLines(operands.c, result_offsets[1]) &&
                           lanes % kernels::kMemoryLineFloats == 0;
        s_.blocks_.tiles(lanes).scattered[end - first](operands, false);
        if (direct == nullptr || here) continue;
        kernels::Lines().copy_rows(scratch.tile + lane, step, end - first, lanes, direct + lane, result_offsets[1]);
      }
      if (direct == nullptr) StoreRows(offset, end - first, block.lanes, scratch.tile);
    }
    if (s_.streams_) kernels::FinishStreams();
  }

  void StoreRows(int64_t offset, int64_t rows, int64_t lanes, const float* tile) const {
    const kernels::Segment whole{0, 0, static_cast<int32_t>(lanes)};
    for (int64_t r = 0; r < rows; ++r) {
      result_.Store(offset + r * p_.weight_result.strides[0], &whole, 1, 1, tile + r * s_.blocks_.lane_step());
    }
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  float* packed_;
  plan::Shares scratch_;
  LineReader input_, output_;
  PairReader output_pairs_;  // with dot products
  LineWriter result_;
  std::atomic<int>* nonfinite_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  WeightsRun(*this, problem, buffers, static_cast<float*>(ledger.Fetch(workspace, output_handle_)),
             ledger.FetchEach(workspace, scratch_handle_), ledger.Fetch(workspace, flag_handle_))
      .Run();
}

}  // namespace canopy::conv::weight_lanes
