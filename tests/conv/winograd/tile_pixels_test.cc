// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/tile_pixels.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy::conv::winograd {
namespace {

// Windows that overlap, begin before the slab and end behind it, in reading order and not, of every pixel and of every
// second or third, where two or three tiles lie in one another or none do.
TEST(TilePixelsTest, ListPixelsOfTheSlabAndZerosElsewhere) {
  packing::SlabShape slab;
  slab.images = 1;
  slab.panel = 16;
  const Extent3 sizes[] = {{1, 5, 30}, {9, 2, 7}, {3, 1, 1}, {1, 0, 4}};
  const Extent3 windows[] = {{1, 6, 6}, {6, 1, 1}, {1, 1, 6}, {1, 4, 4}};
  const Extent3 steps[] = {{1, 4, 4}, {4, 1, 1}, {1, 1, 4}, {1, 4, 4}};
  const Extent3 dilations[] = {{1, 1, 1}, {2, 3, 1}, {1, 2, 2}};
  for (int i = 0; i < 96; ++i) {
    const Extent3 &size = sizes[i / 4 % 4], &window = windows[i % 4], &step = steps[i % 4];
    const Extent3& dilation = dilations[i / 16 % 3];
    const Extent3 comb = i < 48 ? dilation : Extent3{1, 1, 1};
    for (int axis = 0; axis < 3; ++axis) slab.axes[axis] = {0, 1, size[axis]};
    const Extent3 first{0, -1, -2};
    const int64_t pixels = window[0] * window[1] * window[2];
    std::vector<int64_t> list(static_cast<size_t>(2 * 3 * 9 * pixels));
    ListTilePixels(slab, {first, step, window, dilation, comb}, {2, 3, 9}, list.data());
    for (int64_t index = 0; index < 2 * 3 * 9; ++index) {
      const Extent3 tile{index / 27, index / 9 % 3, index % 9};
      const int64_t* offsets = list.data() + index * pixels;
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        Extent3 at{pixel / (window[1] * window[2]), pixel / window[2] % window[1], pixel % window[2]};
        bool there = true;
        for (int axis = 0; axis < 3; ++axis) {
          const int64_t turn = tile[axis] / comb[axis], tooth = tile[axis] % comb[axis];
          at[axis] = first[axis] + (turn * step[axis] + at[axis]) * dilation[axis] + tooth;
          there = there && at[axis] >= 0 && at[axis] < size[axis];
        }
        EXPECT_EQ(offsets[pixel], there ? ((at[0] * size[1] + at[1]) * size[2] + at[2]) * 16 : slab.PanelFloats())
            << "slab " << i / 4 % 4 << ", window " << i % 4 << ", dilation " << i / 16 % 3 << ", comb " << i / 48
            << ", tile " << index << ", pixel " << pixel;
      }
    }
  }
}

}  // namespace
}  // namespace canopy::conv::winograd
