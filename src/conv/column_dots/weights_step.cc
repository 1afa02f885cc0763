// SPDX-License-Identifier: Apache-2.0
#include "conv/column_dots/weights_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/grid.h"
#include "conv/packing/scratch.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/dots/contract.h"

namespace canopy::conv::column_dots {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kColumnFloats = 32 << 10;  // of a piece: 128 KiB of a 1 MiB L2
constexpr int64_t kMostPixels = 512;         // of a piece
constexpr int64_t kSumFloats = 96 << 10;     // of a job: 384 KiB, of which a tile is in use at a time
constexpr int64_t kEnoughJobs = 8;
constexpr int64_t kMostPieces = 256;  // of a segment: its sums meet as many terms

// In units of Step::Work.
constexpr double kEfficiency = 0.86;
constexpr double kReadWork = 4;   // of a vector of output
constexpr double kFarWork = 0.3;  // more for each of its columns, where a piece's are too many for the L1
constexpr int64_t kNearFloats = 6 << 10;
constexpr double kConvertedWork = 3;
constexpr double kColumnElemWork = 0.3, kPickedElemWork = 1.6;
constexpr double kColumnRowWork = 30;
constexpr double kTileWork = 40;
constexpr double kSumWork = 3;  // of a vector of sums, once a piece
constexpr double kReduceWork = 8;
constexpr double kJobWork = 3000;
constexpr double kStoreWork = 5;  // of a weight
constexpr double kBiasElemWork = 0.08, kBiasRowWork = 30;

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : bias_((computation & kBiasFromOutput) != 0),
      sums_(bias_ && problem.rule.input_rounding != numerics::InputRounding::kNone),
      zeros_(MeetsPadding(problem.geometry)),
      lanes_(kernels::Dots().lanes) {
  const Geometry& g = problem.geometry;
  inputs_ = g.group_input_channels();
  outputs_ = g.group_output_channels();
  taps_ = inputs_ * g.taps();
  Cut(g);
  work_ = CountWork(problem);
  const int64_t floats = jobs(g.groups) * segments_ * output_block_ * results();
  partial_handle_ = ledger->Book("partial weight gradients", floats * static_cast<int64_t>(sizeof(float)));
  flag_handle_ = ledger->Book("flag", sizeof(std::atomic<int>));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

void WeightsStep::Cut(const Geometry& g) {
  const int64_t plane = g.output_size[0] * g.output_size[1] * g.output_size[2];
  pieces_ = packing::Pieces(g.batch, plane, std::min(kMostPixels, kColumnFloats / columns()), lanes_);
  line_floats_ = RoundUp(pieces_.pixels, std::max<int64_t>(lanes_, 16));
  rows_ = kernels::kMostDotsRows;
  while (kernels::Dots().most_columns[rows_] == 0) --rows_;
  output_block_ = base::PartSize(outputs_, kSumFloats / (columns() * lanes_));
  if (output_block_ < outputs_) output_block_ = RoundUp(output_block_, rows_);
  output_blocks_ = CeilDiv(outputs_, output_block_);
  const int64_t enough = CeilDiv(kEnoughJobs, std::max<int64_t>(1, jobs(g.groups)));
  const int64_t items = std::max<int64_t>(1, pieces_.count());
  segments_ = std::clamp(std::max(enough, CeilDiv(items, kMostPieces)), int64_t{1}, items);
}

double WeightsStep::CountWork(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const double scale = static_cast<double>(lanes_) / kWorkLanes;
  const double outputs = static_cast<double>(outputs_), lines = static_cast<double>(columns());
  const double pieces = static_cast<double>(pieces_.count()), pixels = static_cast<double>(pieces_.plane * g.batch);
  const double vectors = static_cast<double>(g.batch * CeilDiv(pieces_.plane, lanes_)) * scale;
  const double most = static_cast<double>(kernels::Dots().most_columns[rows_]);
  const double row_tiles = static_cast<double>(CeilDiv(outputs_, rows_)), tiles = row_tiles * (lines / most + 1);
  const bool plain = problem.output.dtype == numerics::DType::kFloat32 &&
                     problem.rule.input_rounding == numerics::InputRounding::kNone;
  const bool picked = problem.input.strides[4] * g.stride[2] != 1;
  double work = vectors * outputs *
                (lines * (1 / kEfficiency + (columns() * line_floats_ > kNearFloats ? kFarWork : 0)) + kReadWork +
                 (plain ? 0 : kConvertedWork));
  work += pieces * (tiles * kTileWork + outputs * lines * kSumWork * scale);
  work += static_cast<double>(output_blocks_) * lines *
          (pixels * (picked ? kPickedElemWork : kColumnElemWork) +
           pixels / static_cast<double>(g.output_size[2]) * kColumnRowWork + pieces * kColumnRowWork);
  if (sums_) work += outputs * (pixels * kBiasElemWork + pieces * kBiasRowWork);
  work += outputs * lines * (static_cast<double>(segments_) * kReduceWork + kStoreWork);
  work += static_cast<double>(output_blocks_ * segments_) * kJobWork;
  return work * static_cast<double>(g.groups);
}

WeightsScratch WeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  WeightsScratch scratch;
  scratch.columns = carver.Take<float>(columns() * line_floats_ + kernels::kLineSlack);
  scratch.rows = carver.Take<float>(rows_ * line_floats_);
  scratch.sums = carver.Take<float>(output_block_ * columns() * lanes_);
  scratch.biases = carver.Take<float>(sums_ ? output_block_ : 0);
  scratch.segments = carver.Take<kernels::Segment>(pieces_.pixels);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  return "pieces of " + std::to_string(pieces_.pixels) + " pixels by " + std::to_string(columns()) +
         " columns, blocks of " + std::to_string(output_block_) + " output channels, " + std::to_string(segments_) +
         " segments";
}

}  // namespace canopy::conv::column_dots
