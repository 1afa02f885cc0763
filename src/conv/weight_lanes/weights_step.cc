// SPDX-License-Identifier: Apache-2.0
#include "conv/weight_lanes/weights_step.h"

#include <algorithm>
#include <atomic>

#include "conv/bf16_dot.h"
#include "conv/grid.h"
#include "conv/packing/scratch.h"
#include "conv/streams.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::weight_lanes {
namespace {

using base::CeilDiv;

constexpr int64_t kMostLanes = 320;          // of a job
constexpr int64_t kColumnFloats = 64 << 10;  // of a job: 256 KiB of a 1 MiB L2
constexpr int64_t kNearResults = 128 << 10;  // 512 KiB of a 1 MiB L2
constexpr int64_t kFarResults = 4 << 20;     // 16 MiB, half an L3
// Products of so few terms wait for the lines that they write: best for long stretches of few rows.
constexpr int64_t kFewTerms = 4, kFewRows = 4, kManyLanes = 512;

// In units of Step::Work.
constexpr double kEfficiency = 0.96;       // of the tiles, operands in the L2
constexpr double kShortEfficiency = 0.85;  // likewise of short vectors
constexpr double kWorkARunCopied = 3;      // of a pixel's column
constexpr double kWorkASlabElem = 1;
constexpr double kWorkASlabRow = 20;
constexpr double kWorkANearResult = 0.15;   // writing one
constexpr double kWorkAResult = 0.35;       // likewise, where all do not stay in the L2
constexpr double kWorkAFarResult = 1;       // nor in the L3
constexpr double kWorkAStreamed = 0.3;      // likewise, past the caches
constexpr double kWorkAConverted = 0.7;     // writing one that is converted
constexpr double kWorkAFarConverted = 1.5;  // likewise, of long rows that do not stay in the L2
constexpr double kWorkATileCall = 30;
constexpr double kWorkARowCopied = 10;   // of results, where they are not whole vectors
constexpr double kWorkAJob = 1000;       // of columns
constexpr double kWorkAMatrixRun = 190;  // an image's terms in a matrix unit's call, at least

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : slab_(problem.geometry), dot_rate_(Bf16DotRate(problem.input.dtype, problem.output.dtype, problem.rule)) {
  const Geometry& g = problem.geometry;
  batch_ = g.batch;
  pixels_ = g.output_size[0] * g.output_size[1] * g.output_size[2];
  taps_ = g.taps();
  output_channels_ = g.group_output_channels();
  whole_ = CoversInput(g, problem.input);
  run_ = g.dilation[2] == 1 ? g.kernel[2] : 1;
  channel_runs_ = taps_ / run_;
  zeros_ = MeetsPadding(g);
  const int64_t most_lanes = std::clamp<int64_t>(kColumnFloats / (batch_ * pixels_), 32, kMostLanes);
  const bool long_rows = batch_ * terms() <= kFewTerms && g.group_input_channels() * taps_ >= kManyLanes;
  const int64_t rows = long_rows ? std::min(kFewRows, output_channels_) : output_channels_;
  blocks_ = Blocks(g.group_input_channels(), taps_, most_lanes, rows,
                   dot_rate_ > 0 ? kernels::PairGatherTiles() : kernels::AllGatherTiles());
  streams_ =
      problem.weight_result.dtype == numerics::DType::kFloat32 && blocks_.AreLines() && WeightsOutgrowCaches(problem);
  work_ = Estimate(problem);
  if (work_ >= kSerialWork) blocks_.ShareOut(g.groups);
  output_handle_ = ledger->Book("output in FP32 or pairs",
                                g.groups * output_channels_ * batch_ * terms() * static_cast<int64_t>(sizeof(float)));
  flag_handle_ = ledger->Book("non-finite output", sizeof(std::atomic<int>));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

double WeightsStep::Estimate(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const double inputs = static_cast<double>(g.group_input_channels()), outputs = static_cast<double>(output_channels_);
  const double lanes = inputs * static_cast<double>(taps_), images = static_cast<double>(batch_);
  const double term = dot_rate_ > 0 ? 2 / dot_rate_ : 1;
  const double panels = lanes / static_cast<double>(blocks_.panel_lanes()) + 0.5 * static_cast<double>(blocks_.count());
  const double vectors = panels * static_cast<double>(blocks_.panel_lanes()) / kWorkLanes;
  const double calls = panels * static_cast<double>(CeilDiv(output_channels_, blocks_.most_rows()));
  const double slab_rows = static_cast<double>(slab_.extent[0] * slab_.extent[1]);
  const double columns =
      whole_ ? lanes * kWorkASlabElem
             : inputs * (static_cast<double>(slab_.floats()) * kWorkASlabElem + slab_rows * kWorkASlabRow +
                         static_cast<double>(channel_runs_ * CeilDiv(run_, 16) * pixels_) * kWorkARunCopied);
  const bool plain = problem.weight_result.dtype == numerics::DType::kFloat32;
  const bool partial = plain && g.group_input_channels() * taps_ % blocks_.vector_lanes() != 0;
  const double jobs = static_cast<double>(blocks_.count());
  const int64_t results = g.groups * g.group_input_channels() * taps_ * output_channels_;
  const bool near = results <= kNearResults;
  const double result = !plain                   ? (whole_ && !near ? kWorkAFarConverted : kWorkAConverted)
                        : streams_               ? kWorkAStreamed
                        : near                   ? kWorkANearResult
                        : results <= kFarResults ? kWorkAResult
                                                 : kWorkAFarResult;
  const double products = static_cast<double>(terms()) * term * vectors * outputs;  // of an image
  const double waited = ByMatrixUnit(dot_rate_) ? std::max(0.0, kWorkAMatrixRun - products / std::max(1.0, calls)) : 0;
  const double efficiency = ShortVectors() ? kShortEfficiency : kEfficiency;
  return static_cast<double>(g.groups) * ((whole_ ? 0 : jobs * kWorkAJob) + (partial ? outputs * kWorkARowCopied : 0) +
                                          images * (products / efficiency + columns) + lanes * outputs * result +
                                          calls * (kWorkATileCall + images * waited));
}

WeightsScratch WeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  WeightsScratch scratch;
  scratch.slab = carver.Take<float>(blocks_.channels() * slab_.floats() + kernels::kLineSlack);
  scratch.columns = carver.Take<float>(batch_ * pixels_ * blocks_.lane_step() + kernels::kLineSlack);
  scratch.tile = carver.Take<float>(kernels::GatherTiles::kMostRows * blocks_.lane_step());
  scratch.run_offsets = carver.Take<int64_t>(blocks_.channels() * channel_runs_);
  scratch.runs = carver.Take<kernels::GatherRun>(batch_);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  return std::to_string(batch_ * pixels_) + " output pixels, blocks of " + std::to_string(blocks_.channels()) +
         " input channels by " + std::to_string(taps_) + " taps, tile " + std::to_string(blocks_.most_rows()) + "x" +
         std::to_string(blocks_.panel_lanes()) + (streams_ ? ", results past the caches" : "") +
         (dot_rate_ > 0 ? ", BF16 dot products of pairs of pixels" : "");
}

}  // namespace canopy::conv::weight_lanes
