// SPDX-License-Identifier: Apache-2.0
// The result, cut into boxes of images, depths, rows and columns; a job computes one.
#ifndef CANOPY_CONV_PACKING_BOXES_H_
#define CANOPY_CONV_PACKING_BOXES_H_

#include <array>
#include <cstdint>

#include "conv/problem.h"

namespace canopy::conv::packing {

using Extent4 = std::array<int64_t, 4>;  // image, depth, height, width

// Positions of a box are numbered (depth, height, width, image), images innermost: neighbours then agree in all that
// kernel offsets and padding depend on.
struct Box {
  Extent4 first{}, count{};

  int64_t positions() const { return count[0] * count[1] * count[2] * count[3]; }
};

class Boxes {
 public:
  Boxes() = default;
  // Boxes of at most about `most_positions`; their cuts on the last three axes are multiples of `multiple`.
  Boxes(int64_t batch, const Extent3& size, const Extent3& multiple, int64_t most_positions);
  // Likewise, of which at least about `least[axis]` are along each axis; axes are then taken whole in the given order.
  Boxes(const Extent4& whole, const Extent3& multiple, const Extent4& least, const std::array<int, 4>& order,
        int64_t most_positions);

  int64_t count() const { return blocks_[0] * blocks_[1] * blocks_[2] * blocks_[3]; }
  Box At(int64_t index) const;
  // Likewise, numbered so that boxes that differ by their images only follow one another: `images` of each place.
  Box AtByPlace(int64_t index) const;
  int64_t images() const { return blocks_[0]; }
  // Of the largest box.
  const Extent4& extent() const { return block_; }
  int64_t positions() const { return block_[0] * block_[1] * block_[2] * block_[3]; }

 private:
  void CountBlocks();

  Extent4 whole_{}, block_{}, blocks_{};
};

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_BOXES_H_
