// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/lane_blocks.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::conv::sheets {

LaneLayout::LaneLayout(int64_t batch_count, int64_t group_count, int64_t lanes)
    : batch(batch_count), groups(group_count) {
  group_blocks = base::CeilDiv(groups, lanes);
  block_groups = base::CeilDiv(groups, group_blocks);
  block_images = std::max<int64_t>(1, std::min(batch, lanes / block_groups));
  image_blocks = base::CeilDiv(batch, block_images);
  block_images = base::CeilDiv(batch, image_blocks);
}

LaneBlock LaneLayout::At(int64_t group_block, int64_t image_block) const {
  LaneBlock block;
  block.first_group = group_block * block_groups;
  block.groups = std::min(block_groups, groups - block.first_group);
  block.first_image = image_block * block_images;
  block.images = std::min(block_images, batch - block.first_image);
  return block;
}

}  // namespace canopy::conv::sheets
