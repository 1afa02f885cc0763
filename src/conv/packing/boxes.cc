// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/boxes.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::conv::packing {
namespace {

using base::CeilDiv;
using base::RoundUp;

// Equal blocks of a multiple of `multiple`, none much larger than `most`.
int64_t EvenBlock(int64_t whole, int64_t most, int64_t multiple) {
  if (whole == 0) return 0;
  if (whole <= most) return whole;
  const int64_t blocks = CeilDiv(whole, std::max<int64_t>(1, most));
  return std::min(whole, RoundUp(CeilDiv(whole, blocks), multiple));
}

}  // namespace

// Whole rows first, whole planes next, then images side by side, then depths: neighbouring rows and depths share what
// they read of the source, so they are cut last but for images, which share nothing but fill tiles at the edges.
Boxes::Boxes(int64_t batch, const Extent3& size, const Extent3& multiple, int64_t most_positions)
    : whole_{batch, size[0], size[1], size[2]} {
  int64_t most = most_positions;
  const auto take = [&](int axis, int64_t step) {
    block_[axis] = EvenBlock(whole_[axis], most, step);
    most /= std::max<int64_t>(1, block_[axis]);
  };
  take(3, multiple[2]);
  take(2, multiple[1]);
  take(0, 1);
  take(1, multiple[0]);
  CountBlocks();
}

Boxes::Boxes(const Extent4& whole, const Extent3& multiple, const Extent4& least, const std::array<int, 4>& order,
             int64_t most_positions)
    : whole_(whole) {
  int64_t most = most_positions;
  for (int axis = 0; axis < 4; ++axis) most /= std::clamp<int64_t>(whole_[axis], 1, least[axis]);
  for (const int axis : order) {
    const int64_t reserved = std::clamp<int64_t>(whole_[axis], 1, least[axis]);
    const int64_t here = std::max<int64_t>(1, most) * reserved;
    block_[axis] = EvenBlock(whole_[axis], here, axis == 0 ? 1 : multiple[axis - 1]);
    most = here / std::max<int64_t>(1, block_[axis]);
  }
  CountBlocks();
}

void Boxes::CountBlocks() {
  for (int axis = 0; axis < 4; ++axis) blocks_[axis] = block_[axis] == 0 ? 0 : CeilDiv(whole_[axis], block_[axis]);
}

Box Boxes::At(int64_t index) const {
  Box box;
  for (int axis = 3; axis >= 0; --axis) {
    box.first[axis] = index % blocks_[axis] * block_[axis];
    box.count[axis] = std::min(block_[axis], whole_[axis] - box.first[axis]);
    index /= blocks_[axis];
  }
  return box;
}

Box Boxes::AtByPlace(int64_t index) const {
  return At(index % blocks_[0] * (count() / blocks_[0]) + index / blocks_[0]);
}

}  // namespace canopy::conv::packing
