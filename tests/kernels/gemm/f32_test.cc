// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <hwy/aligned_allocator.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/gemm/contract.h"

namespace canopy::kernels {
namespace {

// Calls visit(tile, target's name, whether it fuses) for every tile of every target of this machine.
template <class F>
void ForEachTile(const F& visit) {
  for (int64_t target : MachineTargets()) {
    const std::string name = TargetName(target);
    const ScopedTarget scoped(target);
    const GemmTileList list = GemmTiles();
    ASSERT_GT(list.count, 0) << name;
    for (int t = 0; t < list.count; ++t) {
      visit(list.tiles[t], name, name != "SSE4" && name != "SCALAR");  // no fused multiply-add there
      if (testing::Test::HasFailure()) return;
    }
  }
}

float MultiplyAdd(float x, float y, float sum, bool fused) { return fused ? std::fma(x, y, sum) : x * y + sum; }

hwy::AlignedFreeUniquePtr<float[]> Random(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  auto values = hwy::AllocateAligned<float>(static_cast<size_t>(count) + 1);
  for (int64_t i = 0; i < count; ++i) values[i] = real(random);
  return values;
}

// Runs `compute(c, accumulate)` over a tile of known contents and holds it to `sum(r, l)`: the contract fixes order and
// fusing, so the bits are known.
template <class Compute, class Sum>
void ExpectTile(const GemmTile& tile, const std::string& trace, const Compute& compute, const Sum& sum) {
  auto c = hwy::AllocateAligned<float>(static_cast<size_t>(tile.rows * tile.lanes));
  for (bool accumulate : {false, true}) {
    for (int i = 0; i < tile.rows * tile.lanes; ++i) c[i] = static_cast<float>(i);
    compute(c.get(), accumulate);
    for (int r = 0; r < tile.rows; ++r) {
      for (int l = 0; l < tile.lanes; ++l) {
        const float before = accumulate ? static_cast<float>(r * tile.lanes + l) : 0.0f;
        ASSERT_EQ(c[r * tile.lanes + l], before + sum(r, l)) << trace << " " << tile.rows << "x" << tile.lanes;
      }
    }
  }
}

TEST(GemmTest, PackedPanelsGiveTheContractsBits) {
  ForEachTile([](const GemmTile& tile, const std::string& name, bool fused) {
    ASSERT_EQ(tile.rows % 4, 0);
    ASSERT_EQ(tile.lanes % 4, 0);
    for (int64_t depth : {0, 1, 2, 7, 64, 257}) {
      const auto a = Random(tile.rows * depth, 1), b = Random(tile.lanes * depth, 2);
      ExpectTile(
          tile, name, [&](float* c, bool accumulate) { tile.run(depth, a.get(), b.get(), c, accumulate); },
          [&](int r, int l) {
            float sum = 0;
            for (int64_t i = 0; i < depth; ++i)
              sum = MultiplyAdd(a[i * tile.rows + r], b[i * tile.lanes + l], sum, fused);
            return sum;
          });
    }
  });
}

}  // namespace
}  // namespace canopy::kernels
