// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <hwy/aligned_allocator.h>

#include <cmath>
#include <random>
#include <string>

#include "kernels/dispatch.h"
#include "kernels/gemm/contract.h"

namespace canopy::kernels {
namespace {

// The contract fixes order and fusing, so the bits are known.
TEST(GemmTest, EveryTileOfEveryTargetGivesTheContractsBits) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> real(-1, 1);
  for (int64_t target : MachineTargets()) {
    const std::string name = TargetName(target);
    const bool fused = name != "SSE4" && name != "SCALAR";  // no fused multiply-add there
    const ScopedTarget scoped(target);
    const GemmTileList list = GemmTiles();
    ASSERT_GT(list.count, 0) << name;
    for (int t = 0; t < list.count; ++t) {
      const GemmTile& tile = list.tiles[t];
      ASSERT_EQ(tile.rows % 4, 0);
      ASSERT_EQ(tile.lanes % 4, 0);
      for (int64_t depth : {0, 1, 2, 7, 64, 257}) {
        auto a = hwy::AllocateAligned<float>(tile.rows * depth + 1),
             b = hwy::AllocateAligned<float>(tile.lanes * depth + 1);
        auto c = hwy::AllocateAligned<float>(tile.rows * tile.lanes);
        for (int64_t i = 0; i < tile.rows * depth; ++i) a[i] = real(random);
        for (int64_t i = 0; i < tile.lanes * depth; ++i) b[i] = real(random);
        for (bool accumulate : {false, true}) {
          for (int i = 0; i < tile.rows * tile.lanes; ++i) c[i] = static_cast<float>(i);
          tile.run(depth, a.get(), b.get(), c.get(), accumulate);
          for (int r = 0; r < tile.rows; ++r) {
            for (int l = 0; l < tile.lanes; ++l) {
              float sum = 0;
              for (int64_t i = 0; i < depth; ++i) {
                const float x = a[i * tile.rows + r], y = b[i * tile.lanes + l];
                sum = fused ? std::fma(x, y, sum) : x * y + sum;
              }
              if (accumulate) sum = static_cast<float>(r * tile.lanes + l) + sum;
              ASSERT_EQ(c[r * tile.lanes + l], sum)
                  << name << " " << tile.rows << "x" << tile.lanes << " depth " << depth;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace canopy::kernels
