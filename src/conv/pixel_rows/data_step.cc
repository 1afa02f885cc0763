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
constexpr int64_t kResultFloats = 48 << 10;  // 192 KiB of a 1 MiB L2

// In units of Step::Work.
constexpr double kEfficiency[] = {0, 0.85, 0.93, 0.95, 0.86};   // by channels
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
  taps_ = g.taps();
  blocks_ = CeilDiv(input_channels_, int64_t{kernels::RowSumKernels::kMostChannels});
  block_ = CeilDiv(input_channels_, blocks_);
  blocks_ = CeilDiv(input_channels_, block_);
  rows_ = kernels_.rows[block_];
  bands_ = CeilDiv(g.input_size[1], rows_);
  tiles_ = CeilDiv(g.input_size[2], int64_t{kernels_.lanes});
  pitch_ = tiles_ * kernels_.lanes;
  depths_ = std::clamp<int64_t>(kResultFloats / std::max<int64_t>(1, block_ * rows_ * pitch_), 1,
                                std::max<int64_t>(1, g.input_size[0]));
  depth_blocks_ = CeilDiv(g.input_size[0], depths_);
  ListSlices(g);
  int64_t most_rows = 1;
  for (const Slice& slice : slices_) most_rows = std::max(most_rows, slice.rows);
  const int64_t most = std::max<int64_t>(1, kMostTerms / (g.kernel[2] * most_rows));
  chunk_ = base::PartSize(output_channels_, most);
  const base::Checked packed = base::Checked(g.groups) * blocks_ * BlockFloats() * static_cast<int64_t>(sizeof(float));
  packed_handle_ = ledger->Book("packed weights", packed.ok() ? packed.value() : -1);
  scratch_handle_ =
      ledger->BookEach("results", ResultFloats() * static_cast<int64_t>(sizeof(float)), exec::ThreadCount());
  CountWork(problem);
}

void DataStep::ListSlices(const Geometry& g) {
  const int64_t parts = CeilDiv(g.kernel[1], int64_t{kernels_.most_taps[block_]});
  int64_t packed = 0;
  for (int64_t depth = 0; depth < g.kernel[0]; ++depth) {
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = part * g.kernel[1] / parts, rows = (part + 1) * g.kernel[1] / parts - first;
      slices_.push_back({depth, first, rows, packed});
      packed += rows * g.kernel[2] * block_ * output_channels_;
    }
  }
}

void DataStep::CountWork(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  const double scale = static_cast<double>(kernels_.lanes) / kWorkLanes;
  const double calls = static_cast<double>(g.batch * g.input_size[0] * bands_ * tiles_ * blocks_) *
                       static_cast<double>(CeilDiv(output_channels_, chunk_));
  const double vectors = static_cast<double>(g.batch * g.input_size[0] * bands_ * rows_ * tiles_ * blocks_) * scale;
  const double outputs = static_cast<double>(output_channels_), slices = static_cast<double>(slices_.size());
  const double a_cycle = base::Cpu().halves ? 1 : 2;  // multiply-adds
  const double rate = kernels_.masks ? kEfficiency[block_] : kFewRegisters[block_];
  double vector = static_cast<double>(taps_ * block_) / rate + slices * kWorkARowVector;
  if (!kernels_.masks) {
    const double sides = 2.0 / static_cast<double>(std::max<int64_t>(2, tiles_));
    vector += sides * static_cast<double>(taps_) * kWorkASide;
  }
  if (problem.rule.input_rounding != numerics::InputRounding::kNone) {
    vector += static_cast<double>(taps_) / static_cast<double>(g.kernel[1]) * kCyclesARounding * a_cycle *
              (1 + static_cast<double>(g.kernel[1] - 1) / static_cast<double>(rows_));
  }
  const bool far = OutgrowsCaches(problem, kBackwardData);
  vector = std::max(vector, far ? kCyclesAFarVector * a_cycle : kWorkAFarVector);
  work_ = vectors * outputs * vector + calls * slices * kWorkACall +
          vectors * static_cast<double>(block_) * kWorkAStore * 4 +
          outputs * static_cast<double>(input_channels_ * taps_) * kWorkAPackedWeight +
          static_cast<double>(g.batch * depth_blocks_ * bands_ * blocks_) * kWorkAJob;
  work_ *= static_cast<double>(g.groups);
}

std::string DataStep::Describe() const {
  return "bands of " + std::to_string(rows_) + " rows by " + std::to_string(depths_) + " depths, blocks of " +
         std::to_string(block_) + " input channels, chunks of " + std::to_string(chunk_) + " output channels, " +
         std::to_string(slices_.size()) + " slices";
}

}  // namespace canopy::conv::pixel_rows
