// SPDX-License-Identifier: Apache-2.0
#include "kernels/gather_gemm/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/matrix_unit.h"
#include "kernels/dispatch.h"
#include "kernels/gather_gemm/contract.h"
#include "numerics/rounding.h"

namespace canopy::kernels {
namespace {

using numerics::DType;

constexpr GatherRun kRuns[] = {{7, 3, 5}, {0, 700, 1}, {40, 0, 64}, {9, 9, 0}};
constexpr GatherRun kWholeRuns[] = {{7, 3, 32}, {0, 700, 16}, {40, 0, 48}, {9, 9, 0}};
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
void Check(const GatherTiles& tiles, int rows, bool scattered, bool accumulate, bool integers, bool even) {
  const int64_t b_step = tiles.lanes + 9;
  const Pairs a(4000, integers, 1), b(static_cast<size_t>(700 + 64 * b_step), integers, 2);
  std::vector<int64_t> row_offsets, result_offsets;
  for (int r = 0; r < rows; ++r) {
    row_offsets.push_back(even ? r * 37 : (r * 37) % 101);
    result_offsets.push_back((even ? rows - 1 - r : (r + 1) % rows) * (tiles.lanes + 5));
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

void CheckList(const GatherTilesList& list) {
  ASSERT_EQ(list.vector_lanes, AllGatherTiles().vector_lanes);
  for (int v = 0; v < list.count; ++v) {
    const GatherTiles& tiles = list.tiles[v];
    ASSERT_EQ(tiles.lanes, (v + 1) * list.vector_lanes);
    for (int rows = 1; rows <= tiles.most_rows; ++rows) {
      for (int flags = 0; flags < 16; ++flags) Check(tiles, rows, flags & 1, flags & 2, flags & 4, flags & 8);
    }
  }
}

// Panels of one call give what calls of their own do.
void CheckPanels(const GatherTiles& tiles, int rows, const GatherRun (&runs)[4]) {
  constexpr int kPanels = 3;
  const int64_t b_step = tiles.lanes + 9, row = tiles.lanes + 5;
  const Pairs a(4000, false, 3), b(static_cast<size_t>(700 + 64 * b_step), false, 4);
  std::vector<int64_t> row_offsets, result_offsets;
  for (int r = 0; r < kPanels * rows; ++r) {
    row_offsets.push_back((r * 53) % 211);
    result_offsets.push_back((r % rows) * row);
  }
  for (const GatherGemmFn tile : {tiles.scattered[rows], tiles.scattered_ahead[rows], tiles.adjacent[rows]}) {
    const auto run = [&](int first, int panels, float* c) {
      GatherOperands o{runs,
                       4,
                       a.elements.data() + first * 300,
                       row_offsets.data() + first * rows,
                       21,
                       b.elements.data(),
                       b_step,
                       c + first * rows * row,
                       result_offsets.data()};
      o.panels = panels;
      o.a_panel = 300;
      o.c_panel = rows * row;
      o.offsets_panel = rows;
      o.asks = 1;
      o.ahead = b.elements.data();
      tile(o, false);
    };
    std::vector<float> together(static_cast<size_t>(kPanels * rows * row), kUntouched), apart = together;
    run(0, kPanels, together.data());
    for (int panel = 0; panel < kPanels; ++panel) run(panel, 1, apart.data());
    ASSERT_EQ(together, apart);
  }
}

// A copy on the way of a product changes nothing.
void CheckCopies(const GatherTiles& tiles, int rows) {
  const int64_t b_step = tiles.lanes + 9, row = tiles.lanes + 5;
  const Pairs a(4000, false, 3), b(static_cast<size_t>(700 + 64 * b_step), false, 4);
  std::vector<int64_t> result_offsets;
  for (int r = 0; r < rows; ++r) result_offsets.push_back(r * row);
  std::vector<float> plain(static_cast<size_t>(rows * row), kUntouched), copying = plain;
  std::vector<float> copy(static_cast<size_t>(70 * tiles.lanes), kUntouched), expected;
  GatherOperands o{
      kRuns, 4, a.elements.data(), nullptr, 21, b.elements.data(), b_step, plain.data(), result_offsets.data()};
  tiles.adjacent[rows](o, false);
  o.c = copying.data();
  o.b_copy = copy.data();
  o.b_copy_step = tiles.lanes;
  tiles.adjacent_copying[rows](o, false);
  ASSERT_EQ(plain, copying);
  for (const GatherRun& terms : kRuns) {
    for (int64_t i = 0; i < terms.terms; ++i) {
      const float* from = b.elements.data() + terms.b + i * b_step;
      expected.insert(expected.end(), from, from + tiles.lanes);
    }
  }
  ASSERT_EQ(std::memcmp(copy.data(), expected.data(), expected.size() * sizeof(float)), 0);
}

void CheckPanelsAndCopies(const GatherTilesList& list) {
  for (int v = 0; v < list.count; ++v) {
    for (int rows = 1; rows <= list.tiles[v].most_rows; ++rows) {
      CheckPanels(list.tiles[v], rows, kRuns);
      CheckPanels(list.tiles[v], rows, kWholeRuns);
      CheckCopies(list.tiles[v], rows);
    }
  }
}

TEST(PairGatherGemmTest, EveryTileOfVectorsSumsProductsOfPairsAndWritesNothingElse) {
  const GatherTilesList list = VectorPairTiles();
  if (list.count == 0) GTEST_SKIP() << "this processor has no BF16 dot products";
  ASSERT_EQ(list.count, AllGatherTiles().count);
  for (int v = 0; v < list.count; ++v) ASSERT_EQ(list.tiles[v].most_rows, AllGatherTiles().tiles[v].most_rows);
  CheckList(list);
  CheckPanelsAndCopies(list);
}

TEST(PairGatherGemmTest, EveryTileOfAMatrixUnitSumsProductsOfPairsAndWritesNothingElse) {
  const GatherTilesList list = MatrixPairTiles();
  if (list.count == 0) GTEST_SKIP() << "this processor has no matrix unit";
  CheckList(list);
  CheckPanelsAndCopies(list);
  base::ReleaseMatrixTiles();
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
