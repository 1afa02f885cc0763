// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: every number of tiles, with and without rests, panels of channels
// with rests, and padding that leaves windows empty.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "conv/few_tiles/tile_grid.h"
#include "exec/pool.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

// Up to 32 tiles of results, which are the input's positions or the output's.
Geometry DrawFewTiles(Draw* draw, bool of_input) {
  const int64_t channels[] = {16, 17, 24, 32, 35, 48, 66};
  Geometry g;
  g.groups = (*draw)(0, 3) == 0 ? 2 : 1;
  g.input_channels = g.groups * channels[(*draw)(0, 6)];
  g.output_channels = g.groups * channels[(*draw)(0, 6)];
  g.kernel = {1, 3, 3};
  g.batch = (*draw)(1, 3);
  const int64_t most = ((*draw)(0, 3) == 0 ? 32 : 16) / g.batch;
  const int64_t rows = (*draw)(1, most), columns = (*draw)(1, most / rows);  // of tiles
  Extent3 results{1, 4 * rows - (*draw)(0, 3), 4 * columns - (*draw)(0, 3)};
  g.pad_begin = {0, (*draw)(0, 3), (*draw)(0, 3)};
  g.input_size = g.output_size = results;
  for (int a = 1; a < 3; ++a) {
    if ((*draw)(0, 9) == 0) g.pad_begin[a] = (*draw)(4, 9);  // windows of nothing but padding
    const int64_t behind = (*draw)(0, 3);
    const int64_t other =
        of_input ? results[a] + g.pad_begin[a] + behind - 2 : results[a] + 2 - g.pad_begin[a] - behind;
    (of_input ? g.output_size : g.input_size)[a] = std::max<int64_t>(1, other);
  }
  return g;
}

Case FewTilesCase(uint32_t seed, bool of_input) {
  Draw draw(seed);
  Case c;
  const Geometry g = c.problem.geometry = DrawFewTiles(&draw, of_input);
  const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  const DType type = types[draw(0, 3)];
  // Batch and channels may change places, and rows have gaps, but for the weights.
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype, bool any) {
    const std::array<int, 5> orders[] = {{0, 1, 2, 3, 4}, {0, 2, 3, 4, 1}, {1, 0, 4, 3, 2}};
    Tensor tensor = MakeTensor(dims, dtype, orders[any ? draw(0, 2) : 0], any ? draw(0, 1) * 3 : 0);
    FillRandom(&tensor, false, draw.engine());
    return tensor;
  };
  const auto [input, weight, output] = DimsOf(g);
  c.input = make(input, type, true);
  c.weight = make(weight, type, false);
  c.output = make(output, type, true);
  c.input_result = make(input, DType::kFloat32, true);
  c.weight_result = make(weight, DType::kFloat32, false);
  if (draw(0, 3) == 0) c.problem.rule.input_rounding = numerics::InputRounding::kHfloat32x11;
  c.SetOperands();
  return c;
}

TEST(FewTilesTest, GradientsAreTheFormulas) {
  if (kernels::FewTiles() == nullptr) GTEST_SKIP() << "not of this instruction set";
  for (uint32_t seed = 0; seed < 240; ++seed) {
    const bool data = seed % 2 == 0;
    Case c = FewTilesCase(seed, data);
    std::optional<exec::ScopedBackwardJobs> backward;
    if (seed % 8 >= 4) backward.emplace();
    const Computation computation = data ? kBackwardData : kBackwardWeights;
    EXPECT_EQ(RunAlgorithm(&c, "few_tiles", computation), computation) << "seed " << seed;
    const Sums expected = Expected(c);
    const std::string trace = "seed " + std::to_string(seed);
    // The bound that docs/accuracy.md has for fast algorithms.
    if (data) ExpectNear("backward data", c.input_result, expected.input, 3e-6, trace);
    if (!data) ExpectNear("backward weights", c.weight_result, expected.weight, 3e-6, trace);
    if (HasFailure()) return;
  }
}

TEST(FewTilesTest, PaddingIsAbsentBesideWhatIsNotFinite) {
  if (kernels::FewTiles() == nullptr) GTEST_SKIP() << "not of this instruction set";
  for (uint32_t seed = 300; seed < 324; ++seed) {
    Case c = FewTilesCase(seed, seed % 2 == 0);
    MakeOneInfinite(&c, seed);
    ExpectPaddingAbsent(&c, "few_tiles", "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

// Every tile has a place, and those of a point follow one another.
TEST(TileGridTest, TilesOfAPointAreNeighbours) {
  for (int64_t rows = 1; rows <= 12; ++rows) {
    for (int64_t columns = 1; columns <= 12; ++columns) {
      const few_tiles::TileGrid grid(2, {1, rows, columns});
      ASSERT_EQ(grid.count(), few_tiles::TileCount(2, {1, rows, columns}));
      int64_t positions = 0, products = 0;
      for (const few_tiles::Tile& tile : grid.tiles()) {
        positions += tile.size[0] * tile.size[1];
        products += (tile.size[0] + 2) * (tile.size[1] + 2);
      }
      EXPECT_EQ(positions, 2 * rows * columns);
      EXPECT_EQ(grid.products(), products);  // as many as its window has pixels
    }
  }
}

}  // namespace
}  // namespace canopy::conv
