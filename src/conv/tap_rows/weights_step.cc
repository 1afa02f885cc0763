// SPDX-License-Identifier: Apache-2.0
#include "conv/tap_rows/weights_step.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "conv/elements.h"
#include "conv/grid.h"
#include "conv/packing/image_rows.h"
#include "conv/packing/scratch.h"
#include "conv/streams.h"
#include "conv/tensor_bytes.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/lines/contract.h"
#include "kernels/streams.h"

namespace canopy::conv::tap_rows {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kStripPixels = 1024;     // rows of input are read again for each strip
constexpr int64_t kPiecePixels = 256;      // terms of a product: FP32 sums stay short
constexpr int64_t kSlabFloats = 32 << 10;  // 128 KiB of a 1 MiB L2
constexpr int64_t kTileFloats = 48 << 10;  // of a job: 192 KiB, of which a tile is in use at a time
constexpr int64_t kEnoughJobs = 16;

// In units of Step::Work.
constexpr double kEfficiency = 0.93;           // of the tiles
constexpr double kEfficiencyOfOne = 0.75;      // likewise, of one vector: every multiply-add has a load
constexpr double kRunShare = 0.5;              // of what tiles take, more of a run of one pixel; each row is a run
constexpr double kWorkATransposedVector = 12;  // of output: channels often lie in the same sets of the L1
constexpr double kWorkAFarVector = 7;          // more from memory
constexpr double kWorkACopiedVector = 4;       // likewise, where they lie side by side
constexpr double kWorkAConvertedVector = 3;
constexpr double kWorkASummedElem = 0.05, kWorkASummedRow = 60;  // of output, for the bias gradient
constexpr double kWorkASlabElem = 0.3;
constexpr double kWorkAPickedElem = 1;                         // more where residues are picked apart
constexpr double kWorkAStridedElem = 3, kWorkALineAnElem = 8;  // more where input pixels of a row lie apart
constexpr double kWorkASlabRow = 40;
constexpr double kWorkATileVector = 2;
constexpr double kWorkATileCall = 60;
constexpr double kWorkAStore = 1;       // of one result, also adding its partial results
constexpr double kWorkAStoredElem = 4;  // of the result, once
constexpr double kWorkAStoredRow = 30;  // likewise, of the kernel
constexpr double kWorkAJob = 1500;

// Strips under which rows of input are not read twice may be more.
int64_t StripPixels(const Geometry& g) {
  if (g.kernel[1] > 1) return kStripPixels;
  return std::clamp(g.batch * Volume(g.output_size) / kEnoughJobs, kPiecePixels, kStripPixels);
}

}  // namespace

int64_t SlabFloatsAChannel(const Geometry& g) {
  const packing::Strips strips(g, kStripPixels, 1);
  return packing::TapSlab::ChannelFloats(g, strips.rows(), strips.columns(), 1);
}

ConvProblem WithFullStrips(const ConvProblem& problem) {
  const ConvProblem rows = packing::ImagesAsRows(problem);
  return SlabFloatsAChannel(rows.geometry) <= kSlabFloats ? rows : problem;
}

WeightsStep::WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : bias_((computation & kBiasFromOutput) != 0),
      sums_(bias_ && problem.rule.input_rounding != numerics::InputRounding::kNone),
      transposes_(problem.output.strides[4] == 1 || problem.output.strides[1] != 1),
      tiles_(kernels::AllGatherTiles()) {
  const Geometry& g = problem.geometry;
  input_channels_ = g.group_input_channels();
  output_channels_ = g.group_output_channels();
  taps_ = g.taps();
  Cut(g);
  ChooseBlocks();
  ChooseSegments(problem);
  CountWork(problem);
  if (segments_ > 1) {
    partial_handle_ = ledger->Book("partial weight gradients",
                                   jobs(g.groups) * segments_ * tile_floats() * static_cast<int64_t>(sizeof(float)));
  }
  flag_handle_ = ledger->Book("non-finite gradients", sizeof(std::atomic<int>));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

void WeightsStep::Cut(const Geometry& g) {
  strips_ = packing::Strips(g, StripPixels(g), 1);
  piece_columns_ = base::PartSize(strips_.columns(), kPiecePixels);
  piece_rows_ = piece_columns_ < strips_.columns() ? 1 : base::PartSize(strips_.rows(), kPiecePixels / piece_columns_);
  slab_ = packing::TapSlab(g, strips_.rows(), strips_.columns(), 1);
  zeros_ = MeetsPadding(g);
}

void WeightsStep::ChooseBlocks() {
  output_block_ = base::PartSize(output_channels_, kMostOutputs);
  if (output_block_ < output_channels_) output_block_ = RoundUp(output_block_, 2 * tiles_.vector_lanes);
  output_blocks_ = CeilDiv(output_channels_, output_block_);
  const int64_t vectors = CeilDiv(output_block_, tiles_.vector_lanes);
  // Two vectors by many rows; three where that leaves less over.
  panel_vectors_ = std::min<int64_t>(vectors, vectors % 2 == 0 ? 2 : 3);
  // An odd number of cache lines keeps pixels apart in the L1's sets.
  lane_step_ = RoundUp(output_block_, std::max(16, tiles_.vector_lanes));
  if (lane_step_ % 32 == 0 && lane_step_ > 32) lane_step_ += 16;
  const int64_t most =
      std::min(kSlabFloats / std::max<int64_t>(1, slab_.channel_floats()), kTileFloats / (taps_ * lane_step_));
  input_block_ = base::PartSize(input_channels_, most);
  input_blocks_ = CeilDiv(input_channels_, input_block_);
}

void WeightsStep::ChooseSegments(const ConvProblem& problem) {
  const int64_t all = std::max<int64_t>(1, jobs(problem.geometry.groups)), strips = strips_.count();
  const int64_t affordable =
      MostPartialBytes(problem) / std::max<int64_t>(1, all * tile_floats() * static_cast<int64_t>(sizeof(float)));
  segments_ = std::clamp<int64_t>(CeilDiv(kEnoughJobs, all), 1, std::max<int64_t>(1, std::min(strips, affordable)));
  segment_strips_ = std::max<int64_t>(1, CeilDiv(strips, segments_));
  segments_ = std::max<int64_t>(1, CeilDiv(strips, segment_strips_));
}

void WeightsStep::CountWork(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  const double scale = static_cast<double>(tiles_.vector_lanes) / kWorkLanes;
  const double pixels = static_cast<double>(g.batch * g.output_size[0] * g.output_size[1] * g.output_size[2]);
  const double vectors = static_cast<double>(CeilDiv(output_block_, tiles_.vector_lanes) * output_blocks_) * scale;
  const double columns = static_cast<double>(input_channels_ * taps_ + (bias_ ? 1 : 0)),
               strips = static_cast<double>(strips_.count());
  const double pieces =
      strips * static_cast<double>(CeilDiv(strips_.columns(), piece_columns_) * CeilDiv(strips_.rows(), piece_rows_));
  const double rows = static_cast<double>(tiles_.tiles[panel_vectors_ - 1].most_rows);
  const bool plain = problem.output.dtype == numerics::DType::kFloat32 &&
                     problem.rule.input_rounding == numerics::InputRounding::kNone;
  const double far = OutgrowsCaches(problem, kBackwardWeights) ? kWorkAFarVector : 0;
  const double slab_rows =
      static_cast<double>(input_channels_ * output_blocks_ * g.kernel[0] * g.stride[1] * slab_.rows());
  const int64_t step = problem.input.strides[4];
  const double apart = step == 1                                     ? 0
                       : std::abs(step) < kernels::kMemoryLineFloats ? kWorkAStridedElem
                                                                     : kWorkALineAnElem;
  // Rows that do not follow one another are transposed apart, by whole vectors of pixels.
  const bool dense = problem.output.strides[3] == piece_columns_ * problem.output.strides[4];
  const int64_t moved = transposes_ && !dense ? RoundUp(piece_columns_, tiles_.vector_lanes) : piece_columns_;
  const double transposed = static_cast<double>(moved) / static_cast<double>(piece_columns_);
  work_ =
      pixels * vectors *
          (columns / (panel_vectors_ == 1 ? kEfficiencyOfOne : kEfficiency) *
               (1 + kRunShare / static_cast<double>(piece_columns_)) +
           static_cast<double>(input_blocks_) * transposed *
               ((transposes_ ? kWorkATransposedVector : kWorkACopiedVector) + far +
                (plain ? 0 : kWorkAConvertedVector))) +
      pieces * vectors * columns * (kWorkATileVector + kWorkATileCall / (static_cast<double>(panel_vectors_) * rows)) +
      (sums_ ? static_cast<double>(output_channels_) *
                   (pixels * kWorkASummedElem + pixels / static_cast<double>(piece_columns_) * kWorkASummedRow)
             : 0) +
      strips * slab_rows *
          (static_cast<double>(slab_.line_floats()) *
               (kWorkASlabElem + (g.stride[2] > 1 ? kWorkAPickedElem : 0) + apart) +
           kWorkASlabRow) +
      static_cast<double>(segments_) *
          (vectors * kWorkLanes * columns * kWorkAStore + static_cast<double>(jobs(1)) * kWorkAJob) +
      static_cast<double>(output_channels_) * columns *
          (kWorkAStoredElem + kWorkAStoredRow / static_cast<double>(g.kernel[2]));
  work_ *= static_cast<double>(g.groups);
}

WeightsScratch WeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  WeightsScratch scratch;
  scratch.slab = carver.Take<float>(input_block_ * slab_.channel_floats() + slab_.plane_floats() + kernels::kLineSlack);
  scratch.line = carver.Take<float>(slab_.line_floats() + kernels::kLineSlack);
  scratch.rows = carver.Take<float>(output_block_ * piece_pixels());
  scratch.pixels = carver.Take<float>(piece_pixels() * lane_step_);
  scratch.tiles = carver.Take<float>(tile_floats());
  scratch.totals = carver.Take<float>(tile_floats());
  scratch.tap_offsets = carver.Take<int64_t>(columns());
  scratch.pixel_offsets = carver.Take<int64_t>(piece_pixels());
  scratch.result_offsets = carver.Take<int64_t>(columns());
  scratch.runs = carver.Take<kernels::GatherRun>(piece_rows_);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  return "strips of " + std::to_string(strips_.rows()) + "x" + std::to_string(strips_.columns()) +
         " output pixels in pieces of " + std::to_string(piece_rows_) + "x" + std::to_string(piece_columns_) +
         ", blocks of " + std::to_string(output_block_) + " output by " + std::to_string(input_block_) +
         " input channels, " + std::to_string(segments_) + " segments";
}

}  // namespace canopy::conv::tap_rows
