// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/gather_gemm/contract.h"
#include "numerics/rounding.h"

namespace canopy::kernels {
namespace {

using numerics::DType;

constexpr GatherRun kRuns[] = {{7, 3, 5}, {0, 700, 1}, {40, 0, 64}, {9, 9, 0}};
constexpr float kUntouched = -7;

// 32-bit elements, and the two numbers of each.
struct Pairs {
  std::vector<float> elements;
  std::vector<double> numbers;

  Pairs(size_t count, bool integers, uint32_t seed) : elements(count), numbers(2 * count) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> real(-1, 1);
    std::uniform_int_distribution<int> whole(-8, 8);
    for (size_t i = 0; i < 2 * count; ++i) {
      char* to = reinterpret_cast<char*>(elements.data()) + 2 * i;
      numerics::StoreElement(to, DType::kBFloat16, integers ? static_cast<float>(whole(random)) : real(random), false);
      numbers[i] = numerics::LoadElement(to, DType::kBFloat16);
    }
  }
};

// Runs a kernel of `rows` rows and holds its result to the sums of the pairs' products in double: exact where they are
// integers.
void Check(const GatherTiles& tiles, int rows, bool scattered, bool accumulate, bool integers) {
  const int64_t b_step = tiles.lanes + 9;
  const Pairs a(4000, integers, 1), b(static_cast<size_t>(700 + 64 * b_step), integers, 2);
  std::vector<int64_t> row_offsets, result_offsets;
  for (int r = 0; r < rows; ++r) {
    row_offsets.push_back((r * 37) % 101);
    result_offsets.push_back((rows - 1 - r) * (tiles.lanes + 5));
  }
  std::vector<float> c(static_cast<size_t>(rows * (tiles.lanes + 5)), kUntouched);
  const GatherOperands operands{kRuns,  4,        a.elements.data(),    row_offsets.data(), 21, b.elements.data(),
                                b_step, c.data(), result_offsets.data()};
  (scattered ? tiles.scattered : tiles.adjacent)[rows](operands, accumulate);
  for (int r = 0; r < rows; ++r) {
    float* const row = c.data() + result_offsets[r];
    for (int l = 0; l < tiles.lanes; ++l) {
      double sum = accumulate ? kUntouched : 0, magnitude = 8;
      for (const GatherRun& run : kRuns) {
        for (int64_t i = 0; i < run.terms; ++i) {
          const int64_t x = scattered ? run.a + row_offsets[r] + i : run.a + i * operands.a_step + r;
          const int64_t y = run.b + i * b_step + l;
          for (int half = 0; half < 2; ++half) {
            const double product = a.numbers[2 * x + half] * b.numbers[2 * y + half];
            sum += product;
            magnitude += std::abs(product);
          }
        }
      }
      ASSERT_NEAR(row[l], sum, integers ? 0 : 1e-6 * magnitude) << rows << " rows by " << tiles.lanes;
      row[l] = kUntouched;
    }
  }
  ASSERT_EQ(c, std::vector<float>(c.size(), kUntouched));
}

TEST(PairGatherGemmTest, EveryTileSumsProductsOfPairsAndWritesNothingElse) {
  const GatherTilesList list = PairGatherTiles();
  if (list.count == 0) GTEST_SKIP() << "this processor has no BF16 dot products";
  ASSERT_EQ(list.count, AllGatherTiles().count);
  ASSERT_EQ(list.vector_lanes, AllGatherTiles().vector_lanes);
  for (int v = 0; v < list.count; ++v) {
    const GatherTiles& tiles = list.tiles[v];
    ASSERT_EQ(tiles.lanes, AllGatherTiles().tiles[v].lanes);
    ASSERT_EQ(tiles.most_rows, AllGatherTiles().tiles[v].most_rows);
    for (int rows = 1; rows <= tiles.most_rows; ++rows) {
      for (int flags = 0; flags < 8; ++flags) Check(tiles, rows, flags & 1, flags & 2, flags & 4);
    }
  }
}

TEST(PairGatherGemmTest, NarrowerTargetsHaveNone) {
  for (int64_t target : MachineTargets()) {
    const ScopedTarget scoped(target);
    if (AllGatherTiles().vector_lanes != 16) {
      EXPECT_EQ(PairGatherTiles().count, 0) << TargetName(target);
    }
  }
}

}  // namespace
}  // namespace canopy::kernels
