// SPDX-License-Identifier: Apache-2.0
#include "conv/split_gemm/weights_step.h"

#include <algorithm>

#include "conv/split_gemm/estimates.h"
#include "conv/split_gemm/pack.h"
#include "conv/streams.h"
#include "kernels/streams.h"

namespace canopy::conv::split_gemm {
namespace {

using kernels::kSplitSide;
using kernels::kSplitTerms;

constexpr int64_t kLeastStretchBlocks = 4 * kBlocksAPass;  // less would be mostly sums
constexpr int64_t kMostSumsFloats = int64_t{1} << 20;

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : parts_(PartsOf(problem, problem.output, problem.input)),
      kernels_(*kernels::SplitGemm(parts_)),
      bias_(static_cast<Computation>(computation & ~kBackwardWeights)),
      direct_(problem, ledger) {
  ledger->StartOver();  // its time is after this step's own
  const Geometry& g = problem.geometry;
  rows_ = g.group_output_channels();
  channels_ = g.group_input_channels();
  taps_ = g.taps();
  pixels_ = g.batch * g.output_size[0] * g.output_size[1] * g.output_size[2];
  row_panels_ = base::CeilDiv(rows_, int64_t{kSplitSide});
  lane_panels_ = base::CeilDiv(channels_, int64_t{kSplitSide}) * taps_;
  blocks_ = base::CeilDiv(pixels_, int64_t{kSplitTerms});
  cut_ = ChooseCut({row_panels_, lane_panels_, taps_ <= kMostTapsTogether ? taps_ : 1, 1,
                    g.groups * std::max<int64_t>(1, std::min(kEnoughJobs, blocks_ / kLeastStretchBlocks)), true});
  ChooseStretches(g.groups);
  losses_handle_ = ledger->Book("what parts cannot express", sizeof(Losses));
  // Those of all panels of a job are copied together.
  const bool channel_lines =
      ChannelLines(problem.output, problem.output.strides[4]) || ChannelLines(problem.input, problem.input.strides[4]);
  const int64_t line = std::max(kTermsAPass, cut_.lane_panels * kSplitSide);
  const int64_t copied = std::max(cut_.row_panels, cut_.lane_panels) * kSplitSide * kBlocksAPass;
  scratch_ = ScratchLayout(cut_, parts_, stretch_blocks_, 1, channel_lines ? std::max(line, copied) : line, ledger);
  if (stretches_ > 1) {
    const int64_t jobs = g.groups * RowBlocks() * LaneBlocks() * stretches_;
    sums_handle_ = ledger->Book("sums of stretches", jobs * scratch_.results() * static_cast<int64_t>(sizeof(float)));
  }
  work_ = Estimate(problem);
  if (bias_ != 0) {
    const bool from_input = bias_ == kBiasFromInput;
    bias_channels_ = from_input ? g.input_channels : g.output_channels;
    biases_handle_ =
        ledger->Book("partial bias gradients", stretches_ * bias_channels_ * static_cast<int64_t>(sizeof(double)));
    work_ += kWorkASummedNumber * static_cast<double>(bias_channels_ * pixels_ * (from_input ? taps_ : 1));
  }
}

void WeightsStep::ChooseStretches(int64_t groups) {
  const int64_t jobs = groups * RowBlocks() * LaneBlocks();
  const int64_t results = cut_.row_panels * cut_.lane_panels * kSplitSide * kSplitSide;
  const int64_t most = std::min(blocks_ / kLeastStretchBlocks, kMostSumsFloats / (jobs * results));
  const int64_t wanted = std::clamp<int64_t>(base::CeilDiv(kEnoughJobs, jobs), 1, std::max<int64_t>(1, most));
  stretch_blocks_ = base::RoundUp(base::CeilDiv(blocks_, wanted), kBlocksAPass);
  stretches_ = std::max<int64_t>(1, base::CeilDiv(blocks_, stretch_blocks_));
}

double WeightsStep::Estimate(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const double rows = static_cast<double>(row_panels_ * kSplitSide),
               lanes = static_cast<double>(lane_panels_ * kSplitSide),
               terms = static_cast<double>(blocks_ * kSplitTerms);
  const auto number = [&](const Operand& operand, int64_t step, double whole, int64_t together) {
    if (ChannelLines(operand, step)) return kWorkASplitNumber + kWorkACopiedNumber;
    const double length = static_cast<double>(together);
    const double segment = (kWorkASegment + kWorkAShortSegment / length) / length;
    return whole + segment + (step == 1 ? 0 : step == kMostApart ? kWorkASecondNumber : kWorkAFetchedNumber);
  };
  // Stretches of neighbours are rows, unless these follow one another in memory.
  const int64_t width = g.output_size[2], plane = g.output_size[1] * width;
  const bool rows_meet = g.stride[1] == 1 && g.input_size[2] == width && g.kernel[2] == 1;
  const double input = number(problem.input, problem.input.strides[4] * g.stride[2], kWorkATurnedNumber,
                              rows_meet ? plane : width),
               output = number(problem.output, problem.output.strides[4], kWorkASplitNumber, plane);
  const double far = OutgrowsCaches(problem, problem.computations) ? MissedShare() * kWorkAMissedNumber : 0;
  const double inputs = lanes * static_cast<double>(RowBlocks()), outputs = rows * static_cast<double>(LaneBlocks());
  return static_cast<double>(g.groups) *
             (terms * (rows * lanes * WorkAProduct(parts_) + inputs * (input + far / static_cast<double>(taps_)) +
                       outputs * (output + far)) +
              rows * lanes * kWorkAResult * static_cast<double>(1 + stretches_)) +
         kWorkAStep;
}

// Of the lines that a pass reads, those for which the products of the one before have no time to ask.
double WeightsStep::MissedShare() const {
  const int64_t channels = (cut_.row_panels + base::CeilDiv(cut_.lane_panels, taps_)) * kSplitSide;
  const double read = static_cast<double>(channels * kTermsAPass / kernels::kMemoryLineFloats);
  const int64_t asks = kernels::SplitAsks(cut_.row_panels, cut_.lane_panels, kBlocksAPass, parts_);
  return std::max(0.0, 1 - static_cast<double>(asks * kernels::SplitAskedLines(parts_)) / read);
}

std::string WeightsStep::Describe() const {
  return DescribeCut(cut_, parts_) + ", " + std::to_string(RowBlocks() * LaneBlocks()) + " blocks a group, " +
         std::to_string(stretches_) + " stretches";
}

}  // namespace canopy::conv::split_gemm
