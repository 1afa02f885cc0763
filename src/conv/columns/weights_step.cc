// SPDX-License-Identifier: Apache-2.0
#include "conv/columns/weights_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/bf16_dot.h"
#include "conv/grid.h"
#include "conv/packing/cache_sets.h"
#include "conv/packing/scratch.h"
#include "conv/tensor_bytes.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::columns {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kTerms = 256;            // of a product: a panel of columns and a tile's rows then share the L1
constexpr int64_t kMostLanes = 256;        // of a job
constexpr int64_t kTileFloats = 80 << 10;  // results of a job: 320 KiB of a 1 MiB L2
constexpr int64_t kEnoughJobs = 16;

// In units of Step::Work.
constexpr double kEfficiency = 0.93;  // of the tiles, operands in the L2
constexpr double kWorkASlabElem = 1;
constexpr double kWorkAPairedElem = 2;  // likewise
constexpr double kWorkASlabRow = 20;
constexpr double kWorkAConvertedRow = 40;  // likewise; or one output channel of a strip
constexpr double kWorkARunVector = 3;      // copying one vector of a run
constexpr double kWorkAFarElem = 0.2;      // reading an element of output, the factor of a few vectors, from memory
constexpr double kFarBytes = 4 << 20;      // of output, from which on it is there
constexpr double kWorkACrowdElem = 0.45;   // copying one of output, whose channels crowd a set
constexpr double kWorkAnElemAgain = 2.5;   // reading an element of output for another block of columns,
constexpr double kWorkAHalfAgain = 0.6;    // or half of a pair, for a matrix unit
constexpr double kWorkAConvertedElem = 0.8;
constexpr double kWorkASummedElem = 0.05, kWorkASummedRow = 60;  // of output, for the bias gradient
constexpr double kWorkAnOutputRun = 120;  // of a channel, but a product's first: the processor foresees none
constexpr double kWorkAStore = 1;         // of one result, also adding its partial results
constexpr double kWorkATileVector = 2;
constexpr double kWorkATileCall = 60;
constexpr double kWorkAJob = 1500;

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : bias_((computation & kBiasFromOutput) != 0),
      dot_rate_(Bf16DotRate(problem.input.dtype, problem.output.dtype, problem.rule)),
      sums_(bias_ && (dot_rate_ > 0 || problem.rule.input_rounding != numerics::InputRounding::kNone)) {
  const Geometry& g = problem.geometry;
  input_channels_ = g.group_input_channels();
  output_channels_ = g.group_output_channels();
  taps_ = g.taps();
  partner_ = dot_rate_ > 0 ? g.stride[2] : 0;
  run_ = g.dilation[2] == 1 ? g.kernel[2] : 1;
  channel_runs_ = taps_ / run_;
  runs_ = input_channels_ * channel_runs_;
  zeros_ = MeetsPadding(g);
  strips_ = packing::Strips(g, kTerms * a_term(), a_term());
  zeros_ = zeros_ || g.output_size[2] % a_term() != 0;
  group_strips_ = std::max<int64_t>(1, kTerms * a_term() / std::max<int64_t>(1, strips_.pixels()));
  groups_ = CeilDiv(strips_.count(), group_strips_);
  slab_rows_ = (strips_.rows() - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
  slab_pitch_ = (strips_.columns() - 1) * g.stride[2] + (g.kernel[2] - 1) * g.dilation[2] + 1;
  ChooseBlocks();
  crowded_ = packing::CrowdASet(rows_at_once(), problem.output.strides[1]);
  // A block of runs may begin and end within a channel.
  const int64_t channels = std::min(input_channels_, CeilDiv(lane_block_ - 1, channel_runs_) + 1);
  slab_floats_ = channels * g.kernel[0] * slab_rows_ * slab_pitch_;
  ChooseSegments(problem);
  CountWork(problem);
  if (segments_ > 1) {
    partial_handle_ = ledger->Book("partial weight gradients",
                                   jobs(g.groups) * segments_ * tiles_floats() * static_cast<int64_t>(sizeof(float)));
  }
  flag_handle_ = ledger->Book("non-finite gradients", sizeof(std::atomic<int>));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

void WeightsStep::ChooseBlocks() {
  const auto even = [](int64_t whole, int64_t most) {
    return std::max<int64_t>(1, CeilDiv(whole, std::max<int64_t>(1, CeilDiv(whole, std::max<int64_t>(1, most)))));
  };
  lane_block_ = even(runs_, kMostLanes / run_);
  lane_blocks_ = CeilDiv(runs_, lane_block_);
  const int64_t last = runs_ - (lane_blocks_ - 1) * lane_block_;
  const kernels::GatherTilesList list = dot_rate_ > 0 ? kernels::PairGatherTiles() : kernels::AllGatherTiles();
  whole_panels_ = packing::LanePanels(block_columns(lane_block_), block_columns(lane_block_) + kMostLanes, list);
  const int64_t last_columns = block_columns(last) + (bias_ && !sums_ ? 1 : 0);
  last_panels_ = packing::LanePanels(last_columns, last_columns + kMostLanes, list);
  // An odd number of cache lines keeps pixels apart in the L1's sets.
  lane_step_ = RoundUp(std::max(whole_panels_.block_lanes(), last_panels_.block_lanes()), 16);
  if (lane_step_ % 32 == 0 && lane_step_ > 32) lane_step_ += 16;
  row_block_ = even(output_channels_, kTileFloats / lane_step_);
  row_blocks_ = CeilDiv(output_channels_, row_block_);
}

void WeightsStep::ChooseSegments(const ConvProblem& problem) {
  const int64_t all = std::max<int64_t>(1, jobs(problem.geometry.groups));
  const int64_t affordable =
      MostPartialBytes(problem) / std::max<int64_t>(1, all * tiles_floats() * static_cast<int64_t>(sizeof(float)));
  segments_ = std::clamp<int64_t>(CeilDiv(kEnoughJobs, all), 1, std::max<int64_t>(1, std::min(groups_, affordable)));
  segment_groups_ = std::max<int64_t>(1, CeilDiv(groups_, segments_));
  segments_ = std::max<int64_t>(1, CeilDiv(groups_, segment_groups_));
}

void WeightsStep::CountWork(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  const double pixels = static_cast<double>(g.batch * g.output_size[0] * g.output_size[1] * g.output_size[2]);
  const double rows = static_cast<double>(output_channels_), products = static_cast<double>(groups_);
  const double vectors = static_cast<double>(lane_blocks_ - 1) * whole_panels_.work() + last_panels_.work();
  const double row_blocks = static_cast<double>(row_blocks_), lane_blocks = static_cast<double>(lane_blocks_);
  const bool plain = problem.output.dtype == numerics::DType::kFloat32 &&
                     problem.rule.input_rounding == numerics::InputRounding::kNone;
  const double terms = g.output_size[2] == 0 ? 0
                                             : static_cast<double>(CeilDiv(g.output_size[2], a_term())) /
                                                   static_cast<double>(g.output_size[2]);  // of a pixel
  const double term = dot_rate_ > 0 ? 2 / dot_rate_ : 1;
  const double read =
      pixels * rows * static_cast<double>(numerics::ElementBytes(problem.output.dtype) * g.groups) >= kFarBytes
          ? kWorkAFarElem
          : 0;
  const double again = ByMatrixUnit(dot_rate_) ? kWorkAHalfAgain : kWorkAnElemAgain;
  const double crowded = plain && crowded_ ? kWorkACrowdElem : 0;
  const double slab = static_cast<double>(input_channels_ * g.kernel[0] * slab_rows_) *
                      (static_cast<double>(slab_pitch_) * (dot_rate_ > 0 ? kWorkAPairedElem : kWorkASlabElem) +
                       (plain ? kWorkASlabRow : kWorkAConvertedRow)) /
                      static_cast<double>(std::max<int64_t>(1, strips_.pixels()));
  const double calls = products * (rows / whole_panels_.most_rows() + 0.5 * row_blocks) * vectors * kWorkLanes /
                       static_cast<double>(whole_panels_.panel_lanes());
  work_ = pixels * (terms * term * vectors * rows / kEfficiency + slab * row_blocks +
                    terms * static_cast<double>(runs_) * row_blocks * static_cast<double>(CeilDiv(run_, 16)) *
                        kWorkARunVector +
                    rows * (read + crowded + (lane_blocks - 1) * again) +
                    (plain ? 0 : rows * lane_blocks * kWorkAConvertedElem)) +
          (static_cast<double>(strips_.count()) - products) * rows * lane_blocks * kWorkAnOutputRun +
          (plain ? 0 : static_cast<double>(strips_.count()) * rows * lane_blocks * kWorkAConvertedRow) +
          (sums_ ? rows * (pixels * kWorkASummedElem + static_cast<double>(strips_.count()) * kWorkASummedRow) : 0) +
          calls * kWorkATileCall + products * rows * vectors * kWorkATileVector +
          static_cast<double>(segments_) *
              (rows * vectors * kWorkLanes * kWorkAStore + row_blocks * lane_blocks * kWorkAJob);
  work_ *= static_cast<double>(g.groups);
}

WeightsScratch WeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  WeightsScratch scratch;
  scratch.slab = carver.Take<float>(slab_floats_ + kernels::kLineSlack);
  scratch.line = carver.Take<float>(slab_pitch_ + partner_ + kernels::kLineSlack);
  scratch.columns = carver.Take<float>(MostTerms() * lane_step_ + kernels::kLineSlack);
  scratch.rows = carver.Take<float>(MostTerms() * rows_at_once());
  scratch.tiles = carver.Take<float>(tiles_floats());
  scratch.deep = carver.Take<float>(tiles_floats());
  scratch.run_offsets = carver.Take<int64_t>(lane_block_);
  scratch.row_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  scratch.result_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  scratch.runs = carver.Take<kernels::GatherRun>(group_strips_);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  return std::to_string(group_strips_) + " strips of " + std::to_string(strips_.rows()) + "x" +
         std::to_string(strips_.columns()) + " output pixels, blocks of " + std::to_string(row_block_) +
         " output channels by " + std::to_string(lane_block_) + " runs of " + std::to_string(run_) + " taps, " +
         std::to_string(segments_) + " segments" + (dot_rate_ > 0 ? ", BF16 dot products of pairs of pixels" : "");
}

}  // namespace canopy::conv::columns
