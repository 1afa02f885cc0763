// SPDX-License-Identifier: Apache-2.0
#include "conv/weight_lanes/data_step.h"

#include <algorithm>

#include "conv/bf16_dot.h"
#include "conv/packing/scratch.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::weight_lanes {
namespace {

using base::CeilDiv;

constexpr int64_t kMostTerms = 256;           // of one tile call: FP32 sums stay short
constexpr int64_t kMostLanes = 320;           // of a job
constexpr int64_t kMostWeighedLanes = 4096;   // likewise, where rows of weights are read as they stand,
constexpr int64_t kLeastWeighedLanes = 128;   // which shorter ones do not pay for
constexpr int64_t kProductFloats = 64 << 10;  // of a job: 256 KiB of a 1 MiB L2
constexpr int64_t kTurnedFloats = 12 << 10;   // 48 KiB
constexpr int64_t kMostUnit = 16;

// In units of Step::Work.
constexpr double kEfficiency = 0.96;       // of the tiles, operands in the L2
constexpr double kShortEfficiency = 0.85;  // likewise of short vectors
constexpr double kWorkAWeight = 0.1;       // reading an FP32 one from the last-level cache or memory
constexpr double kWorkAPair = 0.7;         // likewise of two, and putting them together
constexpr double kWorkAProduct = 0.4;      // transposing and adding one, gaps included
constexpr double kWorkASum = 0.5;          // clearing and storing one
constexpr double kWorkAPlane = 60;         // of results, copied as they are
constexpr double kWorkAPlaneRow = 8;       // likewise
constexpr double kWorkARow = 100;          // of results, otherwise
constexpr double kWorkALaneAdded = 10;     // of an image
constexpr double kWorkARowCopied = 25;     // of weights, where they are not whole vectors
constexpr double kWorkAJob = 400;
constexpr double kWorkAPixel = 4;  // of output, copied alone
constexpr double kWorkATileVector = 2;
constexpr double kWorkATileCall = 60;
constexpr double kWorkACopiedOutput = 2;  // one element, a few pixels at a time

}  // namespace

DataStep::DataStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : shifts_(problem.geometry), dot_rate_(Bf16DotRate(problem.output.dtype, problem.weight.dtype, problem.rule)) {
  const Geometry& g = problem.geometry;
  batch_ = g.batch;
  pixels_ = g.output_size[0] * g.output_size[1] * g.output_size[2];
  taps_ = g.taps();
  summed_ = TapsAreCoordinates(g);
  whole_ = CoversInput(g, problem.input_result);
  output_channels_ = g.group_output_channels();
  weighs_ = whole_ && batch_ * pixels_ == 1 && g.group_input_channels() * taps_ >= kLeastWeighedLanes &&
            problem.IsPlain(problem.output) && problem.IsPlain(problem.weight) && problem.IsPlain(problem.input_result);
  const int64_t most_lanes =
      weighs_ ? kMostWeighedLanes : std::clamp<int64_t>(kProductFloats / (batch_ * positions()), 32, kMostLanes);
  blocks_ = Blocks(g.group_input_channels(), taps_, most_lanes, batch_ * pixels_,
                   dot_rate_ > 0 ? kernels::PairGatherTiles() : kernels::AllGatherTiles());
  chunk_ = CeilDiv(Terms(output_channels_), CeilDiv(Terms(output_channels_), kMostTerms)) * a_term();
  work_ = Estimate(problem);
  if (work_ >= kSerialWork) blocks_.ShareOut(g.groups);
  unit_ = std::min(blocks_.channels(), std::clamp<int64_t>(kTurnedFloats / (taps_ * positions()), 1, kMostUnit));
  const int64_t floats = g.groups * Terms(output_channels_) * batch_ * pixels_;
  output_ = packing::CommonNumbers("output channels side by side", g.groups * OutputParts(), floats,
                                   kWorkACopiedOutput * static_cast<double>(floats) / std::max(1.0, work_), ledger);
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

double DataStep::Estimate(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const double rows = static_cast<double>(batch_ * pixels_), inputs = static_cast<double>(g.group_input_channels());
  const double lanes = inputs * static_cast<double>(taps_), outputs = static_cast<double>(output_channels_);
  const double term = dot_rate_ > 0 ? 1 / dot_rate_ : 1;
  const double chunks = static_cast<double>(CeilDiv(output_channels_, chunk_));
  const double panels = lanes / static_cast<double>(blocks_.panel_lanes()) + 0.5 * static_cast<double>(blocks_.count());
  const double vectors = panels * static_cast<double>(blocks_.panel_lanes()) / kWorkLanes;
  const double calls = static_cast<double>(CeilDiv(batch_ * pixels_, blocks_.most_rows()));
  const double planes = static_cast<double>(g.batch * g.group_input_channels() * g.input_size[0]);
  const double height = static_cast<double>(g.input_size[1]);
  const bool copied = shifts_.stride == Extent3{1, 1, 1} && problem.input_result.dtype == numerics::DType::kFloat32 &&
                      problem.input_result.strides[4] == 1;
  const bool wide = problem.weight.dtype == numerics::DType::kFloat32;
  const double sums = static_cast<double>(g.batch * g.group_input_channels() * shifts_.floats());
  const double added = (summed_ ? 0
                                : lanes * static_cast<double>(batch_) *
                                          (static_cast<double>(positions()) * kWorkAProduct + kWorkALaneAdded) +
                                      sums * kWorkASum) +
                       planes * (copied ? kWorkAPlane + height * kWorkAPlaneRow : height * kWorkARow);
  const bool partial = !paired() && g.group_input_channels() * taps_ % blocks_.vector_lanes() != 0;
  const double efficiency = ShortVectors() ? kShortEfficiency : kEfficiency;
  return static_cast<double>(g.groups) *
         (static_cast<double>(blocks_.count()) * kWorkAJob + (partial ? outputs * kWorkARowCopied : 0) +
          rows * vectors * outputs * term / efficiency +
          lanes * outputs *
              (dot_rate_ > 0 ? kWorkAPair / 2
               : wide        ? kWorkAWeight
                             : 0) +
          (whole_ ? rows * outputs * kWorkAPixel : added) +
          chunks * (rows * vectors * kWorkATileVector + calls * panels * kWorkATileCall));
}

int64_t DataStep::OutputParts() const { return CeilDiv(Terms(output_channels_), kTermsAPart); }

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  DataScratch scratch;
  const int64_t panel = paired() ? blocks_.lane_step() : blocks_.panel_lanes();
  scratch.weights = carver.Take<float>(Terms(chunk_) * panel + kernels::kLineSlack);
  scratch.products = carver.Take<float>(batch_ * positions() * blocks_.lane_step());
  scratch.turned = carver.Take<float>(unit_ * taps_ * positions());
  scratch.sums = carver.Take<float>(unit_ * sum_floats() + positions());  // past the last tap's last pixel
  scratch.line = carver.Take<float>(shifts_.extent[2] * shifts_.stride[2] + kernels::kLineSlack);
  scratch.result_offsets = carver.Take<int64_t>(batch_ * pixels_);
  scratch.turned_offsets = carver.Take<int64_t>(unit_ * taps_);
  scratch.sum_offsets = carver.Take<int64_t>(unit_ * taps_);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DataStep::Describe() const {
  return std::to_string(batch_ * pixels_) + " output pixels, blocks of " + std::to_string(blocks_.channels()) +
         " input channels by " + std::to_string(taps_) + " taps, chunks of " + std::to_string(chunk_) +
         " output channels, tile " + std::to_string(blocks_.most_rows()) + "x" + std::to_string(blocks_.panel_lanes()) +
         (dot_rate_ > 0 ? ", BF16 dot products" : "");
}

}  // namespace canopy::conv::weight_lanes
