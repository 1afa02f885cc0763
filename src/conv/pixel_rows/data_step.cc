// SPDX-License-Identifier: Apache-2.0
#include "conv/pixel_rows/data_step.h"

#include <algorithm>

#include "base/cpu.h"
#include "conv/streams.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::pixel_rows {
namespace {

using base::CeilDiv;

constexpr int64_t kMostTerms = 256;          // of one call: FP32 sums stay short
constexpr int64_t kResultFloats = 48 << 10;  // of a job: 192 KiB of a 1 MiB L2
constexpr int64_t kSourceFloats = 24 << 10;  // of the depths that one depth meets, unless sources get very few
constexpr int64_t kFewSources = 16;

// In units of Step::Work.
constexpr double kEfficiency[] = {0, 0.62, 0.87, 0.95, 0.95};   // by channels
constexpr double kFewRegisters[] = {0, 0.45, 0.5, 0.47, 0.35};  // likewise, of sixteen: sums wait for one another
constexpr double kWorkASide = 27;                               // of a vector under a tap, read by its lanes
constexpr double kWorkARowVector = 2.5;                         // of output, from memory, for each slice
constexpr double kWorkACall = 100;
constexpr double kWorkAStore = 2;
constexpr double kWorkAPackedWeight = 4;
constexpr double kWorkAJob = 1000;
constexpr double kWorkAFarVector = 15.5;  // the least, of one that waits for a cache
// In cycles, for which multiply-adds do not wait.
constexpr double kCyclesAFarVector = 15.5;  // the least, of one that waits for memory
constexpr double kCyclesARounding = 2.6;    // of a vector of output, each time that it is read

}  // namespace

DataStep::DataStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : kernels_(kernels::RowSums(kernels::convert::FormRead(problem.output.dtype, problem.rule))) {
  const Geometry& g = problem.geometry;
  input_channels_ = g.group_input_channels();
  output_channels_ = g.group_output_channels();
  blocks_ = CeilDiv(input_channels_, int64_t{kernels::RowSumKernels::kMostChannels});
  block_ = CeilDiv(input_channels_, blocks_);
  blocks_ = CeilDiv(input_channels_, block_);
  rows_ = kernels_.rows[block_];
  stride_rows_ = g.stride[1];
  stride_columns_ = g.stride[2];
  bands_ = CeilDiv(CeilDiv(g.input_size[1], stride_rows_), rows_);
  tiles_ = CeilDiv(CeilDiv(g.input_size[2], stride_columns_), int64_t{kernels_.lanes});
  pitch_ = tiles_ * kernels_.lanes;
  depths_ = std::clamp<int64_t>(kResultFloats / std::max<int64_t>(1, DepthFloats()), 1,
                                std::max<int64_t>(1, g.input_size[0]));
  depth_blocks_ = CeilDiv(g.input_size[0], depths_);
  ListPhases(g);
  ListSlices(g);
  chunk_ = base::PartSize(output_channels_, MostSources(g));
  const base::Checked packed = base::Checked(g.groups) * blocks_ * BlockFloats() * static_cast<int64_t>(sizeof(float));
  packed_handle_ = ledger->Book("packed weights", packed.ok() ? packed.value() : -1);
  scratch_handle_ = ledger->BookEach("results", (ResultFloats() + LineFloats()) * static_cast<int64_t>(sizeof(float)),
                                     exec::ThreadCount());
  CountWork(problem);
}

void DataStep::ListPhases(const Geometry& g) {
  bool gaps = false;
  for (const AxisPhase& rows : BackwardDataPhases(g, 1, &gaps)) {
    for (const AxisPhase& columns : BackwardDataPhases(g, 2, &gaps)) phases_.push_back({rows, columns});
  }
}

void DataStep::ListSlices(const Geometry& g) {
  kernel_depth_ = g.kernel[0];
  int64_t end_row = 0;
  for (const Phase& phase : phases_) {
    const int64_t taps = phase.row_taps(), parts = CeilDiv(taps, int64_t{kernels_.most_taps[block_]});
    const int64_t first_row = phase.rows.taps.back().shift, first_column = phase.columns.taps.back().shift;
    const bool none = slices_.empty();
    first_row_ = none ? first_row : std::min(first_row_, first_row);
    first_column_ = none ? first_column : std::min(first_column_, first_column);
    end_row = none ? first_row + rows_ + taps - 1 : std::max(end_row, first_row + rows_ + taps - 1);
    const int64_t results = (phase.rows.result_shift * stride_columns_ + phase.columns.result_shift) * PhaseFloats();
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = part * taps / parts, rows = (part + 1) * taps / parts - first;
      slices_.push_back(
          {&phase, first, rows, phase.column_taps(), first_row + first, first_column, DepthTapFloats(), results});
      plane_taps_ += rows * phase.column_taps();
    }
  }
  read_rows_ = end_row - first_row_;
}

int64_t DataStep::MostSources(const Geometry& g) const {
  int64_t taps = 1;
  for (const Slice& slice : slices_) taps = std::max(taps, slice.rows * slice.columns);
  const int64_t most = std::max<int64_t>(1, kMostTerms / taps);
  if (kernel_depth_ == 1) return most;
  // Depths of a chunk meet several depth taps, one after the other.
  const int64_t in_cache = kSourceFloats / (kernel_depth_ * read_rows_ * g.output_size[2] + 1);
  return std::min(most, std::max(kFewSources, in_cache));
}

void DataStep::CountWork(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  const double scale = static_cast<double>(kernels_.lanes) / kWorkLanes;
  // A vector is one of each phase; a depth of the result meets one in as many depth taps as the stride has steps.
  const double calls = static_cast<double>(g.batch * g.input_size[0] * bands_ * tiles_ * blocks_) *
                       static_cast<double>(CeilDiv(output_channels_, chunk_));
  const double vectors = static_cast<double>(g.batch * g.input_size[0] * bands_ * rows_ * tiles_ * blocks_) * scale;
  const double outputs = static_cast<double>(output_channels_), met = 1 / static_cast<double>(g.stride[0]);
  const double slices = static_cast<double>(slices_.size()) * static_cast<double>(g.kernel[0]) * met;
  const double taps = static_cast<double>(plane_taps_ * g.kernel[0]) * met;
  const double a_cycle = base::Cpu().halves ? 1 : 2;  // multiply-adds
  const double rate = kernels_.masks ? kEfficiency[block_] : kFewRegisters[block_];
  double vector = taps * static_cast<double>(block_) / rate + slices * kWorkARowVector;
  if (!kernels_.masks) {
    const double sides = 2.0 / static_cast<double>(std::max<int64_t>(2, tiles_));
    vector += sides * taps * kWorkASide;
  }
  if (problem.rule.input_rounding != numerics::InputRounding::kNone) {
    for (const Slice& slice : slices_) {
      const double read = 1 + static_cast<double>(slice.rows - 1) / static_cast<double>(rows_);
      vector += static_cast<double>(slice.columns * g.kernel[0]) * met * read * kCyclesARounding * a_cycle;
    }
  }
  const bool far = OutgrowsCaches(problem, kBackwardData);
  vector = std::max(vector, far ? kCyclesAFarVector * a_cycle : kWorkAFarVector);
  work_ = vectors * outputs * vector + calls * slices * kWorkACall +
          vectors * static_cast<double>(block_ * stride_rows_ * stride_columns_) * kWorkAStore * 4 +
          outputs * static_cast<double>(input_channels_ * g.taps()) * kWorkAPackedWeight +
          static_cast<double>(g.batch * depth_blocks_ * bands_ * blocks_) * kWorkAJob;
  work_ *= static_cast<double>(g.groups);
}

std::string DataStep::Describe() const {
  return "bands of " + std::to_string(rows_) + " rows by " + std::to_string(depths_) + " depths, blocks of " +
         std::to_string(block_) + " input channels, chunks of " + std::to_string(chunk_) + " output channels, " +
         std::to_string(phases_.size()) + (phases_.size() == 1 ? " phase, " : " phases, ") +
         std::to_string(slices_.size()) + " slices";
}

}  // namespace canopy::conv::pixel_rows
