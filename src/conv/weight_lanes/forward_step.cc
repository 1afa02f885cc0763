// SPDX-License-Identifier: Apache-2.0
#include "conv/weight_lanes/forward_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/packing/cache_sets.h"
#include "conv/packing/scratch.h"
#include "conv/weight_lanes/limits.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/dots/contract.h"
#include "kernels/lines/contract.h"

namespace canopy::conv::weight_lanes {
namespace {

using base::CeilDiv;

constexpr int64_t kMostTerms = 256;       // of one tile call: FP32 sums stay short
constexpr int64_t kLeastTerms = 64;       // likewise
constexpr int64_t kNearFloats = 8 << 10;  // of a call's columns: 32 KiB
constexpr int64_t kRowsOfASet = 8;        // of a call, where the lines of all rows share a set of the L1
constexpr int64_t kMostRows = 64;         // of a job
constexpr int64_t kMostDottedRows = 16;   // likewise

// In units of Step::Work.
constexpr double kDotsEfficiency = 0.7;  // of dot products
constexpr double kEfficiency = 0.9;      // of the tiles
constexpr double kWorkAWeight = 0.1;     // reading one from the last-level cache or memory
constexpr double kWorkACopiedWeight = 1;
constexpr double kWorkADottedWeight = 0.45;  // likewise, for which products do not make up
constexpr double kWorkAColumnElem = 0.8;     // fetching one
constexpr double kWorkAColumnRun = 20;       // of elements that a step of the output's walk parts
constexpr double kWorkAColumn = 40;
constexpr double kWorkASlab = 150;  // of an image's channel
constexpr double kWorkATileVector = 2;
constexpr double kWorkATileCall = 60;
constexpr double kWorkAStore = 0.3;
constexpr double kWorkAJob = 400;

}  // namespace

ForwardStep::ForwardStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger) : slab_(problem.geometry) {
  const Geometry& g = problem.geometry;
  input_channels_ = g.group_input_channels();
  output_channels_ = g.group_output_channels();
  taps_ = g.taps();
  batch_ = g.batch;
  pixels_ = g.batch * g.output_size[0] * g.output_size[1] * g.output_size[2];
  panels_ = PixelPanels(pixels_);
  const kernels::DotsKernels& dots = kernels::Dots();
  dots_ = problem.IsPlain(problem.weight) && pixels_ <= dots.most_columns[dots.most_rows()] &&
          terms() % dots.lanes == 0 && dots.lanes <= kMostDotsLanes;
  chunk_ = dots_ ? dots.lanes * base::PartSize(terms() / dots.lanes, kMostTerms)
                 : base::PartSize(terms(), std::clamp(kNearFloats / panels_.panel_lanes(), kLeastTerms, kMostTerms));
  block_ = base::PartSize(output_channels_, dots_ ? kMostDottedRows : kMostRows);
  blocks_ = CeilDiv(output_channels_, block_);
  rows_ = panels_.most_rows();
  if (packing::CrowdASet(rows_, problem.weight.strides[0])) rows_ = kRowsOfASet;
  work_ = Estimate(problem);
  const int64_t floats = g.groups * GroupFloats();
  columns_ = packing::CommonNumbers("columns", g.input_channels, floats,
                                    kWorkAColumnElem * static_cast<double>(floats) / std::max(1.0, work_), ledger);
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

double ForwardStep::Estimate(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const double columns = static_cast<double>(terms()), rows = static_cast<double>(output_channels_);
  const double vectors = static_cast<double>(lanes()) / kWorkLanes, weights = columns * rows;
  const double runs = static_cast<double>(g.batch * g.output_size[0] * g.output_size[1]);
  const double chunks = static_cast<double>(CeilDiv(terms(), chunk_));
  const double calls = chunks * static_cast<double>(panels_.panels(0) * blocks_ * CeilDiv(block_, rows_));
  const double read = problem.IsPlain(problem.weight) ? kWorkAWeight : kWorkACopiedWeight;
  const double a_weight = dots_ ? static_cast<double>(pixels_) / kWorkLanes / kDotsEfficiency + kWorkADottedWeight
                                : vectors / kEfficiency + read;
  return static_cast<double>(g.groups) *
         (weights * a_weight + static_cast<double>(g.batch * input_channels_) * kWorkASlab +
          columns * (static_cast<double>(pixels_) * kWorkAColumnElem + runs * kWorkAColumnRun + kWorkAColumn) +
          chunks * rows * vectors * kWorkATileVector + calls * kWorkATileCall +
          rows * static_cast<double>(pixels_) * kWorkAStore + static_cast<double>(blocks_) * kWorkAJob);
}

ForwardScratch ForwardStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  ForwardScratch scratch;
  scratch.slab = carver.Take<float>(batch_ * slab_.floats() + kernels::kLineSlack);
  scratch.sums = carver.Take<float>(block_ * lanes());
  scratch.rows = carver.Take<float>(block_ * copied_stride());
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string ForwardStep::Describe() const {
  if (dots_) {
    return std::to_string(pixels_) + " output pixels, dot products of " + std::to_string(terms()) +
           " columns, blocks of " + std::to_string(block_) + " output channels";
  }
  return std::to_string(pixels_) + " output pixels, " + std::to_string(terms()) + " columns in chunks of " +
         std::to_string(chunk_) + ", blocks of " + std::to_string(block_) + " output channels, tile " +
         std::to_string(rows_) + "x" + std::to_string(panels_.panel_lanes());
}

}  // namespace canopy::conv::weight_lanes
