// SPDX-License-Identifier: Apache-2.0
#include "conv/implicit_gemm/weights_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/tensor_bytes.h"

namespace canopy::conv::implicit_gemm {
namespace {

constexpr int64_t kEnoughJobs = 16;
constexpr int64_t kLeastDepthBlocks = 4;     // of a segment: less would be mostly reduction
constexpr double kOrientationMargin = 1.25;  // how much padding a friendlier store is worth

constexpr double kWorkAPackedElem = 2;  // gathering one element into a panel
constexpr double kWorkASegment = 60;    // starting a stretch of neighbours
constexpr double kWorkAStride = 4;      // an element that has no neighbour beside it
constexpr double kWorkAStore = 1.5;
constexpr double kWorkAStridedStore = 20;  // likewise, beside no neighbour

// Whether the columns of an output channel's weights lie side by side.
bool ColumnsBeside(const ConvProblem& problem) {
  return problem.weight_result.strides[problem.geometry.kernel[2] > 1 ? 4 : 1] == 1;
}

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger) {
  const Geometry& g = problem.geometry;
  channels_ = g.group_output_channels();
  columns_ = g.group_input_channels() * g.taps();
  pixels_ = g.batch * g.output_size[0] * g.output_size[1] * g.output_size[2];
  padding_ = MeetsPadding(g);
  ChooseSides(problem);
  row_panels_ = base::CeilDiv(channels_are_lanes_ ? columns_ : channels_, tile_.rows);
  lane_panels_ = base::CeilDiv(channels_are_lanes_ ? channels_ : columns_, tile_.lanes);
  ChooseSegments(problem, ledger);
  const double rows = static_cast<double>(row_panels_ * tile_.rows),
               lanes = static_cast<double>(lane_panels_ * tile_.lanes);
  const bool apart = problem.input.strides[4] * g.stride[2] != 1 && !input_channel_lines_;
  const double elem = kWorkAPackedElem + (apart ? kWorkAStride : 0) +
                      kWorkASegment / static_cast<double>(std::max<int64_t>(
                                          1, input_channel_lines_ ? g.group_input_channels() : g.output_size[2]));
  const double packed = rows * static_cast<double>(lane_blocks_) + lanes * static_cast<double>(row_blocks_);
  work_ = static_cast<double>(g.groups) * static_cast<double>(pixels_ + 4) *
          (rows * lanes / (16 * tile_.efficiency) + packed * elem);
  const bool beside = channels_are_lanes_ ? problem.weight_result.strides[0] == 1 : ColumnsBeside(problem);
  work_ += static_cast<double>(g.groups) * rows * lanes * (beside ? kWorkAStore : kWorkAStridedStore);
}

// Columns are lanes, so that a result row is stored as it lies in OIHW weights; channels where those lie side by side
// (TBC), or where it saves much padding.
void WeightsStep::ChooseSides(const ConvProblem& problem) {
  double columns_cost = 0, channels_cost = 0;
  const kernels::GemmTile& by_columns = ChooseTile(channels_, columns_, &columns_cost);
  const kernels::GemmTile& by_channels = ChooseTile(columns_, channels_, &channels_cost);
  const bool channels_contiguous = problem.weight_result.strides[0] == 1 && !ColumnsBeside(problem);
  channels_are_lanes_ = channels_contiguous ? channels_cost <= columns_cost * kOrientationMargin
                                            : channels_cost * kOrientationMargin < columns_cost;
  tile_ = channels_are_lanes_ ? by_channels : by_columns;
  const Geometry& g = problem.geometry;
  const int64_t pixel_step = problem.input.strides[4] * g.stride[2];
  input_channel_lines_ = problem.input.strides[1] == 1 && pixel_step != 1 && g.group_input_channels() > 1;
  output_channel_lines_ = problem.output.strides[1] == 1 && problem.output.strides[4] != 1 && channels_ > 1;
  tap_major_ = input_channel_lines_;
}

void WeightsStep::ChooseSegments(const ConvProblem& problem, plan::WorkspaceLedger* ledger) {
  const int64_t tile_floats = int64_t{tile_.rows} * tile_.lanes;
  // Blocks stay large, since packing is shared by a block; segments make the jobs where blocks do not.
  blocking_ = ChooseBlocking(tile_, row_panels_ * tile_.rows, lane_panels_ * tile_.lanes, pixels_, kEnoughJobs);
  row_blocks_ = base::CeilDiv(row_panels_, blocking_.row_panels);
  lane_blocks_ = base::CeilDiv(lane_panels_, blocking_.lane_panels);
  block_floats_ = blocking_.row_panels * blocking_.lane_panels * tile_floats;
  const int64_t jobs = std::max<int64_t>(1, problem.geometry.groups * row_blocks_ * lane_blocks_);
  const int64_t depth_blocks = base::CeilDiv(pixels_, blocking_.depth);
  const int64_t affordable = MostPartialBytes(problem) / (jobs * block_floats_ * static_cast<int64_t>(sizeof(float)));
  segments_ = std::clamp<int64_t>(base::CeilDiv(kEnoughJobs, jobs), 1,
                                  std::max<int64_t>(1, std::min(depth_blocks / kLeastDepthBlocks, affordable)));
  segment_pixels_ = base::CeilDiv(depth_blocks, segments_) * blocking_.depth;
  segments_ = std::max<int64_t>(1, base::CeilDiv(pixels_, std::max<int64_t>(1, segment_pixels_)));
  if (segments_ > 1) {
    partial_handle_ = ledger->Book("partial weight gradients",
                                   jobs * segments_ * block_floats_ * static_cast<int64_t>(sizeof(float)));
  }
  flag_handle_ = ledger->Book("non-finite gradients", sizeof(std::atomic<int>));
  scratch_ = ScratchLayout(tile_, blocking_, true, segment_pixels_ > kBlocksASum * blocking_.depth, ledger);
}

std::string WeightsStep::Describe() const {
  return DescribeBlocking(tile_, blocking_) + ", lanes are " + (channels_are_lanes_ ? "channels" : "columns") + ", " +
         std::to_string(row_blocks_ * lane_blocks_) + " blocks a group, " + std::to_string(segments_) + " segments";
}

}  // namespace canopy::conv::implicit_gemm
