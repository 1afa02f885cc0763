// SPDX-License-Identifier: Apache-2.0
// The weights of an output channel, cut into blocks of input channels with all their taps: the lanes of a job.
#ifndef CANOPY_CONV_WEIGHT_LANES_BLOCKS_H_
#define CANOPY_CONV_WEIGHT_LANES_BLOCKS_H_

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/checked_math.h"
#include "conv/packing/tile_width.h"
#include "exec/pool.h"
#include "kernels/gather_gemm/contract.h"
#include "kernels/streams.h"

namespace canopy::conv::weight_lanes {

struct Block {
  int64_t group, first, channels;  // input channels of the group
  int64_t lanes;
};

class Blocks {
 public:
  Blocks() = default;
  // Of at most about `most_lanes`, for products of so many rows.
  Blocks(int64_t channels, int64_t taps, int64_t most_lanes, int64_t rows, const kernels::GatherTilesList& list)
      : channels_(channels), taps_(taps), list_(list), wide_(packing::TileWidth(list, rows)) {
    const int64_t most = std::clamp<int64_t>(most_lanes / taps, 1, channels);
    // Whole panels where that is not too many channels.
    together_ = panel_lanes() / std::gcd(panel_lanes(), taps);
    while (together_ > most) together_ /= 2;
    Cut(base::CeilDiv(channels, most / together_ * together_));
  }

  // Into smaller blocks where threads would wait for one another. That changes no bit of a result.
  void ShareOut(int64_t groups) {
    if (exec::ThreadCount() == 1) return;
    const int64_t wanted = base::CeilDiv(kJobsAThread * exec::ThreadCount(), groups);
    const int64_t least = base::RoundUp(base::CeilDiv(kLeastLanes, taps_), together_);
    if (wanted > count_) Cut(std::clamp(channels_ / least, count_, wanted));
  }

  int64_t count() const { return count_; }          // of a group
  int64_t channels() const { return block_; }       // of the longest block
  int64_t lane_step() const { return lane_step_; }  // from row to row of a block's lanes
  Block At(int64_t index) const {
    const int64_t block = index % count_, first = First(block);
    const int64_t channels = std::min(channels_, First(block + 1)) - first;
    return {index / count_, first, channels, channels * taps_};
  }

  bool AreLines() const { return together_ * taps_ % kernels::kMemoryLineFloats == 0; }  // whole lines of memory

  int64_t panel_lanes() const { return wide_ * list_.vector_lanes; }
  int64_t vector_lanes() const { return list_.vector_lanes; }
  int64_t most_rows() const { return list_.tiles[wide_ - 1].most_rows; }
  // For `lanes` of a panel.
  const kernels::GatherTiles& tiles(int64_t lanes) const {
    return list_.tiles[base::CeilDiv(lanes, list_.vector_lanes) - 1];
  }

 private:
  static constexpr int64_t kJobsAThread = 4, kLeastLanes = 32;

  // Into so many blocks, whose bundles of channels that fill panels differ by one at most.
  void Cut(int64_t count) {
    count_ = count;
    block_ = base::CeilDiv(bundles(), count) * together_;
    // An odd number of cache lines keeps rows apart in the L1's sets.
    lane_step_ = base::RoundUp(block_ * taps_, std::max<int64_t>(16, panel_lanes()));
    if (lane_step_ % 32 == 0) lane_step_ += 16;
  }

  int64_t bundles() const { return base::CeilDiv(channels_, together_); }
  int64_t First(int64_t block) const { return block * bundles() / count_ * together_; }

  int64_t channels_ = 0, taps_ = 1;
  kernels::GatherTilesList list_{};
  int wide_ = 1;
  int64_t together_ = 1;  // channels that fill whole panels
  int64_t block_ = 1, count_ = 1, lane_step_ = 1;
};

}  // namespace canopy::conv::weight_lanes

#endif  // CANOPY_CONV_WEIGHT_LANES_BLOCKS_H_
