// SPDX-License-Identifier: Apache-2.0
// Planes of tensors as lanes. A group of channels never meets another, nor an image another, so each may be a lane: the
// same channel of as many groups (and images) as a vector has lanes lie side by side.
#ifndef CANOPY_CONV_SHEETS_LANE_BLOCKS_H_
#define CANOPY_CONV_SHEETS_LANE_BLOCKS_H_

#include <cstdint>

namespace canopy::conv::sheets {

// Lane l is group first_group + l % groups of image first_image + l / groups.
struct LaneBlock {
  int64_t first_group = 0, groups = 0, first_image = 0, images = 0;

  int64_t lanes() const { return groups * images; }
};

// Deals groups and images to blocks: several images only where there are few groups.
struct LaneLayout {
  LaneLayout() = default;
  LaneLayout(int64_t batch, int64_t groups, int64_t lanes);

  LaneBlock At(int64_t group_block, int64_t image_block) const;

  int64_t batch = 0, groups = 0;
  int64_t block_groups = 1, block_images = 1;  // of one block; the last may have fewer
  int64_t group_blocks = 0, image_blocks = 0;
};

}  // namespace canopy::conv::sheets

#endif  // CANOPY_CONV_SHEETS_LANE_BLOCKS_H_
