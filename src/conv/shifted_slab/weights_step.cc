// SPDX-License-Identifier: Apache-2.0
#include "conv/shifted_slab/weights_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/implicit_gemm/blocking.h"
#include "conv/shifted_slab/weights_run.h"
#include "exec/pool.h"

namespace canopy::conv::shifted_slab {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kMostRows = 576;  // channels times taps of a job: packing a lane panel serves all of them
constexpr int64_t kMostBlockLanes = 256;
constexpr int64_t kMostPositions = 1024;
constexpr int64_t kSlabFloats = 96 << 10;
constexpr int64_t kEnoughJobs = 16;
constexpr int64_t kMostPartialBytes = int64_t{8} << 20;
constexpr double kWorkASlabElem = 1;    // fetching one element
constexpr double kWorkAPackedElem = 1;  // packing one element of the output

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger) {
  const Geometry& g = problem.geometry;
  input_channels_ = g.group_input_channels();
  output_channels_ = g.group_output_channels();
  plane_taps_ = g.kernel[1] * g.kernel[2];
  for (int axis = 0; axis < 3; ++axis) {
    axis_phases_[axis] = ForwardPhases(g, axis);
    shape_.axes[axis] = &axis_phases_[axis][0];
    shape_.taps[axis] = AxisTaps(axis_phases_[axis][0]);
  }
  ChooseBlocks(g);
  LayOut(g, ledger);
}

void WeightsStep::ChooseBlocks(const Geometry& g) {
  double cost = 0;
  const int64_t taps = std::max<int64_t>(1, g.taps());
  chunk_ = std::clamp<int64_t>(kMostRows / taps, 1, std::max<int64_t>(1, input_channels_));
  tile_ = implicit_gemm::ChooseTile(chunk_ * plane_taps_, output_channels_, &cost);
  int64_t most = kMostPositions;
  do {
    shape_.Cut(g.batch, g.input_size, most);
    shape_.plane_elems = RoundUp(shape_.plane_elems + tile_.lanes, 16);
    shape_.channel_elems = RoundUp(shape_.planes * shape_.plane_elems, 32) + 16;
    most /= 2;
  } while (most >= 64 && chunk_ * shape_.channel_elems > kSlabFloats);
  chunk_ = std::clamp<int64_t>(kSlabFloats / shape_.channel_elems, 1, chunk_);
  chunks_ = CeilDiv(input_channels_, chunk_);
  chunk_ = chunks_ > 0 ? CeilDiv(input_channels_, chunks_) : 1;
  row_panels_ = CeilDiv(chunk_ * plane_taps_, tile_.rows);
  const int64_t all_panels = CeilDiv(output_channels_, tile_.lanes);
  lane_blocks_ = CeilDiv(all_panels * tile_.lanes, kMostBlockLanes);
  lane_panels_ = lane_blocks_ > 0 ? CeilDiv(all_panels, lane_blocks_) : 1;
  lane_blocks_ = CeilDiv(all_panels, lane_panels_);
  tiles_floats_ = g.kernel[0] * row_panels_ * lane_panels_ * tile_.rows * tile_.lanes;
}

void WeightsStep::LayOut(const Geometry& g, plan::WorkspaceLedger* ledger) {
  const int64_t floats = static_cast<int64_t>(sizeof(float)), align = plan::WorkspaceLedger::kAlignment;
  const int64_t blocks = std::max<int64_t>(1, g.groups * chunks_ * lane_blocks_);
  places_ = g.batch > 0 ? shape_.jobs() : 0;
  const int64_t affordable = kMostPartialBytes / std::max<int64_t>(1, blocks * tiles_floats_ * floats);
  segments_ = std::clamp<int64_t>(CeilDiv(kEnoughJobs, blocks), 1, std::max<int64_t>(1, std::min(places_, affordable)));
  segment_places_ = std::max<int64_t>(1, CeilDiv(places_, segments_));
  segments_ = std::max<int64_t>(1, CeilDiv(places_, segment_places_));
  if (segments_ > 1) {
    partial_handle_ = ledger->Book("partial weight gradients", blocks * segments_ * tiles_floats_ * floats);
  }
  flag_handle_ = ledger->Book("non-finite elements", sizeof(std::atomic<int>));
  const int64_t slack = kernels::kLineSlack, line = std::max(kDepth, shape_.taps[2].Extent(shape_.columns));
  slab_bytes_ = RoundUp((chunk_ * shape_.channel_elems + slack) * floats, align);
  lanes_bytes_ = RoundUp((tile_.lanes * kDepth + slack) * floats, align);
  tiles_bytes_ = RoundUp(tiles_floats_ * floats, align);
  line_bytes_ = RoundUp((std::max(line, row_panels_ * tile_.rows) + 2 * slack) * floats, align);
  segments_bytes_ =
      RoundUp(std::max(kDepth, row_panels_ * tile_.rows) * static_cast<int64_t>(sizeof(kernels::Segment)), align);
  offsets_bytes_ = RoundUp(row_panels_ * tile_.rows * static_cast<int64_t>(sizeof(int64_t)), align);
  scratch_bytes_ = slab_bytes_ + lanes_bytes_ + 2 * tiles_bytes_ + 4 * line_bytes_ + segments_bytes_ + offsets_bytes_;
  scratch_handle_ = ledger->Book("scratch of " + std::to_string(exec::ThreadCount()) + " threads",
                                 scratch_bytes_ * exec::ThreadCount());
  const double positions = static_cast<double>(places_) * static_cast<double>(shape_.positions * g.groups);
  const double lanes = static_cast<double>(lane_blocks_ * lane_panels_ * tile_.lanes);
  const double rows = static_cast<double>(chunks_ * g.kernel[0] * row_panels_ * tile_.rows);
  work_ = positions * rows * lanes / (16 * tile_.efficiency) +
          positions * lanes * static_cast<double>(chunks_) * kWorkAPackedElem +
          static_cast<double>(places_ * g.groups * lane_blocks_) *
              static_cast<double>(input_channels_ * shape_.channel_elems) * kWorkASlabElem;
}

WeightsScratch WeightsStep::ScratchAt(const plan::WorkspaceLedger& ledger, void* workspace, int worker) const {
  char* at = static_cast<char*>(ledger.Fetch(workspace, scratch_handle_)) + worker * scratch_bytes_;
  const auto take = [&at](int64_t bytes) {
    char* here = at;
    at += bytes;
    return reinterpret_cast<float*>(here);
  };
  WeightsScratch scratch;
  scratch.slab = take(slab_bytes_);
  scratch.lanes = take(lanes_bytes_);
  scratch.tiles = take(tiles_bytes_);
  scratch.deep = take(tiles_bytes_);
  for (float*& line : scratch.lines) line = take(line_bytes_);
  scratch.segments = reinterpret_cast<kernels::Segment*>(take(segments_bytes_));
  scratch.row_offsets = reinterpret_cast<int64_t*>(take(offsets_bytes_));
  return scratch;
}

std::string WeightsStep::Describe() const {
  return "tile " + std::to_string(tile_.rows) + "x" + std::to_string(tile_.lanes) + ", " +
         std::to_string(chunks_ * lane_blocks_) + " blocks a group of " + std::to_string(chunk_) + " input by " +
         std::to_string(lane_panels_ * tile_.lanes) + " output channels, " + std::to_string(segments_) + " segments, " +
         std::to_string(places_) + " slabs of " + std::to_string(shape_.positions) + " positions";
}

}  // namespace canopy::conv::shifted_slab
