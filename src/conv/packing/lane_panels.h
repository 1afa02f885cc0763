// SPDX-License-Identifier: Apache-2.0
// A block of channels as vectors, cut into panels as wide as a tile.
#ifndef CANOPY_CONV_PACKING_LANE_PANELS_H_
#define CANOPY_CONV_PACKING_LANE_PANELS_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "conv/work.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::packing {

class LanePanels {
 public:
  LanePanels() = default;
  // Blocks of at most about `most_lanes` channels, alike in size, for tiles of the list. `wide`: vectors of a panel at
  // most; 0: a good choice.
  LanePanels(int64_t channels, int64_t most_lanes, const kernels::GatherTilesList& list = kernels::AllGatherTiles(),
             int64_t wide = 0)
      : list_(list) {
    const int64_t vector = list_.vector_lanes, vectors = base::CeilDiv(channels, vector);
    wide_ = wide == 0 ? ChooseWidth(vectors) : std::clamp<int64_t>(vectors, 1, std::min<int64_t>(wide, list_.count));
    const int64_t panels = base::CeilDiv(vectors, wide_);
    const int64_t blocks = base::CeilDiv(panels, std::max<int64_t>(1, most_lanes / (wide_ * vector)));
    block_panels_ = blocks == 0 ? 1 : base::CeilDiv(panels, blocks);
    blocks_ = base::CeilDiv(panels, block_panels_);
    channels_ = channels;
  }

  int64_t blocks() const { return blocks_; }
  int64_t block_lanes() const { return block_panels_ * panel_lanes(); }  // of a whole block
  int64_t panel_lanes() const { return wide_ * list_.vector_lanes; }
  int64_t first(int64_t block) const { return block * block_lanes(); }
  int64_t channels(int64_t block) const { return std::min(block_lanes(), channels_ - first(block)); }
  int64_t panels(int64_t block) const { return base::CeilDiv(channels(block), panel_lanes()); }
  // Panel `panel` of a block: the last may be narrower.
  const kernels::GatherTiles& tiles(int64_t block, int64_t panel) const {
    const int64_t left = channels(block) - panel * panel_lanes();
    return list_.tiles[std::min(wide_, base::CeilDiv(left, list_.vector_lanes)) - 1];
  }
  // Panels of a block from `panel` on that are as wide.
  int64_t Alike(int64_t block, int64_t panel) const {
    const int64_t vector = list_.vector_lanes, wide = base::CeilDiv(channels(block), vector) / wide_;
    return (panel < wide ? wide : panels(block)) - panel;
  }
  // Whether the last block has a panel that is narrower than others.
  bool narrow() const { return vectors() > wide_ && vectors() % wide_ != 0; }
  // Vectors of all blocks, padding included.
  int64_t vectors() const { return base::CeilDiv(channels_, list_.vector_lanes); }
  // Of a multiply-add of all of them.
  double work() const { return static_cast<double>(vectors()) * vector_work(); }
  int vector_lanes() const { return list_.vector_lanes; }
  int most_rows() const { return list_.tiles[wide_ - 1].most_rows; }
  // Loads that tiles of all vectors make for a row, each of which takes as long as a vector's multiply-add.
  double LoadWorkOfARow() const {
    const int64_t over = vectors() % wide_;
    const double loads =
        static_cast<double>(vectors() / wide_) * LoadsOfARow(wide_) + (over == 0 ? 0 : LoadsOfARow(over));
    return loads * vector_work();
  }

 private:
  // Three vectors need the fewest loads a multiply-add; two where that leaves less over. Alike where more cost no rows.
  int64_t ChooseWidth(int64_t vectors) const {
    if (vectors <= kWidest) return std::max<int64_t>(1, vectors);
    if (list_.WideAndHigh() >= kWidest) return base::CeilDiv(vectors, base::CeilDiv(vectors, kWidest));
    return vectors % 3 == 0 || vectors % 2 != 0 ? 3 : 2;
  }

  double vector_work() const { return static_cast<double>(list_.vector_lanes) / kWorkLanes; }

  // Of a tile of so many vectors.
  double LoadsOfARow(int64_t wide) const {
    return 1 + static_cast<double>(wide) / static_cast<double>(list_.tiles[wide - 1].most_rows);
  }

  static constexpr int64_t kWidest = 4;  // wider tiles are for few rows

  kernels::GatherTilesList list_{};
  int64_t wide_ = 1, block_panels_ = 1, blocks_ = 0, channels_ = 0;
};

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_LANE_PANELS_H_
