// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked_math.h"
#include "conv/depthwise/step.h"
#include "conv/work.h"

namespace canopy::conv::depthwise {
namespace {

// What a whole run takes over the stencils' and the copies' own time, measured.
constexpr double kDataOverhead = 1.3;
constexpr double kWeightsOverhead = 1.45;
constexpr double kDeepWeightsOverhead = 2.2, kShortDeepWeightsOverhead = 1.6;  // under kernels with a depth

double WeightsOverhead(bool deep) {
  if (!deep) return kWeightsOverhead;
  return ShortVectors() ? kShortDeepWeightsOverhead : kDeepWeightsOverhead;
}

}  // namespace

DataStep::DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : forward_(computation == kForward), layout_(problem, computation), threads_(layout_, ledger) {
  const int64_t blocks = layout_.lanes().group_blocks, pairs = layout_.source_channels() * layout_.piece_channels();
  packed_floats_ = pairs * problem.geometry.taps() * layout_.vector_lanes();
  const base::Checked packed_bytes = base::Checked(blocks) * packed_floats_ * static_cast<int64_t>(sizeof(float));
  packed_handle_ = ledger->Book("weights as lanes", packed_bytes.ok() ? packed_bytes.value() : -1);
  flags_handle_ =
      ledger->Book("non-finite weights", blocks * layout_.piece_channels() * static_cast<int64_t>(sizeof(int)));
  work_ = kDataOverhead * static_cast<double>(layout_.vector_lanes()) / kWorkLanes *
          (layout_.copy_work() + layout_.choice().work * static_cast<double>(pairs * blocks) *
                                     static_cast<double>(layout_.lanes().image_blocks));
}

std::string DataStep::Describe() const { return layout_.Describe(); }

namespace {

constexpr int64_t kEnoughJobs = 16;
constexpr int64_t kMostSumBytes = int64_t{8} << 20;

Box Whole(const Extent3& extent) { return {Range{0, extent[0]}, Range{0, extent[1]}, Range{0, extent[2]}}; }

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : layout_(problem, kBackwardWeights), threads_(layout_, ledger) {
  const sheets::LaneLayout& lanes = layout_.lanes();
  const int64_t pairs = layout_.source_channels() * layout_.piece_channels();
  result_shape_ = SlabShape(Whole(problem.geometry.kernel), 1, layout_.vector_lanes(), 0, {});
  result_floats_ = base::RoundUp(pairs * result_shape_.floats, kernels::kMostLanes);
  items_ = lanes.image_blocks * layout_.pieces();
  const base::Checked block_bytes =
      base::Checked(lanes.group_blocks) * result_floats_ * static_cast<int64_t>(sizeof(float));
  const int64_t affordable = block_bytes.ok() ? kMostSumBytes / std::max<int64_t>(1, block_bytes.value()) : 1;
  segments_ = std::clamp<int64_t>(base::CeilDiv(kEnoughJobs, lanes.group_blocks), 1,
                                  std::max<int64_t>(1, std::min(items_, affordable)));
  segments_ = base::CeilDiv(items_, base::CeilDiv(items_, segments_));
  const base::Checked bytes = block_bytes * segments_;
  sums_handle_ = ledger->Book("weight gradients as lanes", bytes.ok() ? bytes.value() : -1);
  const bool deep = problem.geometry.kernel[0] > 1;
  work_ = WeightsOverhead(deep) * static_cast<double>(layout_.vector_lanes()) / kWorkLanes *
          (layout_.copy_work() + layout_.choice().work * static_cast<double>(pairs) *
                                     static_cast<double>(lanes.group_blocks) * static_cast<double>(lanes.image_blocks));
}

std::string WeightsStep::Describe() const {
  return layout_.Describe() + ", " + std::to_string(segments_) + " segments";
}

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if (computation == kBackwardWeights) return std::make_unique<WeightsStep>(problem, ledger);
  return std::make_unique<DataStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::depthwise
