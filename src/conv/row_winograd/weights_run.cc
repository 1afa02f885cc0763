// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <new>
#include <span>
#include <vector>

#include "base/checked_math.h"
#include "conv/packing/row_panels.h"
#include "conv/row_winograd/row_reader.h"
#include "conv/row_winograd/weights_step.h"
#include "conv/row_winograd/windows.h"
#include "conv/sheets/sheet.h"
#include "exec/pool.h"
#include "kernels/row_points/contract.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::row_winograd {

using kernels::kWinogradLanes;
using kernels::kWinogradPoints;

// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers,
             const plan::WorkspaceLedger& ledger, void* workspace)
      : s_(step),
        p_(problem),
        b_(buffers),
        partial_(static_cast<float*>(ledger.Fetch(workspace, s_.partial_handle_))),
        scratch_(ledger.FetchEach(workspace, s_.scratch_handle_)),
        nonfinite_(new (ledger.Fetch(workspace, s_.found_handle_)) std::atomic<int>(0)),
        input_(b_.input, p_.input, p_.rule, p_.geometry.input_size, kWinogradPoints),
        output_(b_.output, p_.output, p_.rule, p_.geometry.output_size, s_.tile_),
        result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate) {}

  // Whether every result is finite.
  bool Run() const {
    const bool serial = s_.work_ < kSerialWork;
    const int64_t jobs = p_.geometry.groups * s_.blocks();
    for (int worker = 0; worker < exec::ThreadCount(); ++worker) {
      *s_.ScratchAt(scratch_.Of(worker), nullptr).cleared = 0;
    }
    exec::ParallelFor(jobs * s_.parts_, serial, [&](int64_t index, int worker) {
      Job(BlockAt(index / s_.parts_), index % s_.parts_, s_.ScratchAt(scratch_.Of(worker), nullptr));
    });
    exec::ParallelFor(jobs, serial, [&](int64_t index, int worker) {
      Finish(BlockAt(index), s_.ScratchAt(scratch_.Of(worker), nullptr).kernels);
    });
    return nonfinite_->load(std::memory_order_relaxed) == 0;
  }

 private:
  // Output channels of a group.
  struct Block {
    int64_t index, group, first, outputs;  // the first of the tensor's
  };

  Block BlockAt(int64_t index) const {
    const int64_t group = index / s_.blocks(), block = index % s_.blocks();
    return {index, group, group * s_.outputs_ + block * s_.block_, s_.OutputsOf(block)};
  }

  float* Partial(const Block& block, int64_t part) const {
    return partial_ + (block.index * s_.parts_ + part) * s_.block_sums();
  }

  void Job(const Block& block, int64_t part, const WeightsScratch& scratch) const {
    const int64_t columns = s_.columns();
    Clear(scratch);
    std::fill_n(scratch.sums, kWinogradPoints * s_.block_ * columns * s_.lanes_, 0.0f);
    std::fill_n(scratch.biases, s_.block_ * kWinogradLanes, 0.0f);
    const int64_t lines = s_.lines_.count(), end = (part + 1) * lines / s_.parts_;
    for (int64_t line = part * lines / s_.parts_; line < end; ++line) {
      const std::span<const SegmentRun> runs = s_.lines_.ListRuns(line, scratch.segments);
      ClearBehind(line, scratch);
      LoadWindows(input_, {block.group * p_.geometry.group_input_channels(), 0, s_.sources_}, s_.depths_,
                  s_.rows_.least(), s_.lines_, runs,
                  {scratch.windows + s_.lines_.left(), s_.window_floats_, s_.sources_ * s_.window_floats_, scratch.rows,
                   scratch.zeros});
      const packing::RowPanels panels(block.outputs, s_.rows_at_once_);
      auto tile = s_.TilesOf(block.index % s_.blocks()).begin();
      for (int64_t p = 0; p < panels.count(); ++p) {
        LoadOutputs(block.first + panels.first(p), panels.rows(p), scratch.biases + panels.first(p) * kWinogradLanes,
                    runs, scratch);
        tile = Multiply(block, line, runs.front(), tile, scratch);
      }
    }
    float* to = Partial(block, part);
    for (int64_t p = 0; p < kWinogradPoints; ++p) {
      kernels::Dots().reduce(scratch.sums + p * s_.block_ * columns * s_.lanes_, block.outputs * columns,
                             to + p * s_.point_sums());
    }
    if (!s_.bias_) return;
    for (int64_t o = 0; o < block.outputs; ++o) {
      to[kWinogradPoints * s_.point_sums() + o] =
          kernels::Lines().sum(scratch.biases + o * kWinogradLanes, kWinogradLanes);
    }
  }

  // Once a run: nobody writes where no pixel is.
  void Clear(const WeightsScratch& scratch) const {
    if (*scratch.cleared != 0) return;
    *scratch.cleared = 1;
    std::fill_n(scratch.zeros, std::max(s_.lines_.columns(), s_.lines_.source_columns()), 0.0f);
    std::fill_n(scratch.outputs, kWinogradPoints * s_.panel_ * s_.output_floats_, 0.0f);
    std::fill_n(scratch.windows, kWinogradPoints * s_.sources_ * s_.window_floats_, 0.0f);
    const int64_t kernel_columns = s_.columns_.count();
    for (int64_t i = 0; i < s_.columns(); ++i) {
      scratch.offsets[i] = i / kernel_columns * s_.window_floats_ + s_.lines_.left() + s_.columns_[i % kernel_columns];
    }
  }

  // Longer lines leave segments behind shorter ones.
  void ClearBehind(int64_t line, const WeightsScratch& scratch) const {
    const int64_t end = s_.lines_.SegmentsOf(line) * s_.lines_.pitch();
    if (end == s_.lines_.MostFloats()) return;
    for (int64_t i = 0; i < kWinogradPoints * s_.panel_; ++i) {
      std::fill(scratch.outputs + i * s_.output_floats_ + end, scratch.outputs + (i + 1) * s_.output_floats_, 0.0f);
    }
  }

  void LoadOutputs(int64_t first, int64_t channels, float* biases, std::span<const SegmentRun> runs,
                   const WeightsScratch& scratch) const {
    const kernels::RowPointsKernels& kernels = kernels::RowPoints();
    const auto& transforms = s_.bias_ ? kernels.summing_kernels : kernels.kernels;
    const kernels::RowsToPointsFn transform = transforms[s_.tile_][static_cast<int>(output_.form())];
    kernels::RowsToPoints call{};
    call.tile_rows = s_.tile_;
    call.pitch = s_.lines_.pitch();
    call.zeros = scratch.zeros;
    call.step = s_.panel_ * s_.output_floats_;
    for (int64_t o = 0; o < channels; ++o) {
      call.sums = biases + o * kWinogradLanes;
      for (const SegmentRun& run : runs) {
        output_.Set(run.image, first + o, run.depth, run.row, run.tiles, scratch.rows, &call);
        call.points = scratch.outputs + o * s_.output_floats_ + run.position;
        transform(call);
      }
    }
  }

  // Adds the products of a panel of a line, of which `run` is the first, and asks memory for some of the next line's
  // rows. Returns the next panel's first tile.
  std::vector<Tile>::const_iterator Multiply(const Block& block, int64_t line, const SegmentRun& run,
                                             std::vector<Tile>::const_iterator tile,
                                             const WeightsScratch& scratch) const {
    const int64_t next = run.row + s_.lines_.SegmentsOf(line) * s_.tile_;
    const int64_t input = block.group * p_.geometry.group_input_channels();
    const char* const wanted[2] = {output_.Address(run.image, block.first, run.depth, next),
                                   input_.Address(run.image, input, run.depth, next)};
    const int64_t columns = s_.columns();
    kernels::DotsCall call{};
    call.a_row = s_.output_floats_;
    call.sums_row = columns * s_.lanes_;
    call.vectors = base::CeilDiv(s_.lines_.PositionsOf(line), s_.lanes_);
    const auto end = s_.TilesOf(block.index % s_.blocks()).end();
    const int64_t first = tile->row;
    for (; tile != end && tile->row == first; ++tile) {
      call.a = scratch.outputs + tile->point * s_.panel_ * s_.output_floats_;
      call.b = scratch.windows + tile->point * s_.sources_ * s_.window_floats_;
      call.b_offsets = scratch.offsets + tile->column;
      call.sums = scratch.sums + ((tile->point * s_.block_ + tile->row) * columns + tile->column) * s_.lanes_;
      for (int i = 0; i < 2; ++i) {
        call.ahead[i] = wanted[i] + tile->asks[i].first;
        call.ahead_step[i] = tile->asks[i].step;
      }
      tile->dots(call);
    }
    return tile;
  }

  // Adds up the parts of a block, in their order, and stores its kernels.
  void Finish(const Block& block, float* kernels) const {
    float* sums = Partial(block, 0);
    const int64_t count = s_.block_sums();
    for (int64_t part = 1; part < s_.parts_; ++part) {
      const float* more = Partial(block, part);
      for (int64_t i = 0; i < count; ++i) sums[i] += more[i];
    }
    const int64_t columns = s_.columns(), used = block.outputs * columns, all = s_.point_sums();
    for (int64_t p = 0; p < kWinogradPoints; ++p) std::fill(sums + p * all + used, sums + (p + 1) * all, 0.0f);
    int64_t offsets[kernels::kMostWinogradKernel];
    for (int64_t k = 0; k < s_.taps_; ++k) offsets[k] = k * all;
    kernels::Winograd(1).results[s_.tile_][1][s_.taps_](sums, all, all, kernels, offsets);
    if (kernels::Lines().any_nonfinite(kernels, s_.taps_ * all)) nonfinite_->store(1, std::memory_order_relaxed);
    for (int64_t o = 0; o < block.outputs; ++o) StoreKernel(block.first + o, kernels + o * columns);
    if (s_.bias_) sheets::StoreBiases(p_, b_, block.first, block.outputs, sums + kWinogradPoints * all);
  }

  // Rows of all sources: kernels[kernel row][source][kernel column].
  void StoreKernel(int64_t output, const float* kernels) const {
    const Geometry& g = p_.geometry;
    const auto& strides = p_.weight_result.strides;
    const kernels::Segment row{0, 0, static_cast<int32_t>(g.kernel[2])};
    for (int64_t i = 0; i < s_.sources_; ++i) {
      const int64_t at = output * strides[0] + i / g.kernel[0] * strides[1] + i % g.kernel[0] * strides[2];
      for (int64_t h = 0; h < s_.taps_; ++h) {
        result_.Store(at + h * strides[3], &row, 1, strides[4], kernels + h * s_.point_sums() + i * g.kernel[2]);
      }
    }
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  float* partial_;
  plan::Shares scratch_;
  std::atomic<int>* nonfinite_;
  RowReader input_, output_;
  LineWriter result_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  if (!WeightsRun(*this, problem, buffers, ledger, workspace).Run()) direct_.Run(problem, buffers, ledger, workspace);
}

}  // namespace canopy::conv::row_winograd
