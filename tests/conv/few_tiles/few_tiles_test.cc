// SPDX-License-Identifier: Apache-2.0
// What the sweep over all algorithms hardly meets: every number of tiles, with and without rests, panels of channels
// with rests, and padding that leaves windows empty.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "conv/few_tiles/tile_grid.h"
#include "exec/pool.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

// Up to 64 tiles of results, which are the input's positions or the output's.
Geometry DrawFewTiles(Draw* draw, bool of_input) {
  const int64_t channels[] = {16, 17, 24, 32, 35, 48, 66};
  Geometry g;
  g.groups = (*draw)(0, 3) == 0 ? 2 : 1;
  g.input_channels = g.groups * channels[(*draw)(0, 6)];
  g.output_channels = g.groups * ((*draw)(0, 7) == 0 ? 264 : channels[(*draw)(0, 6)]);
  g.kernel = {1, 3, 3};
  g.batch = (*draw)(1, 3);
  const int64_t stride = (*draw)(1, 2), side = stride == 1 ? 4 : 5;
  g.stride = {1, stride, stride};
  const int64_t most = ((*draw)(0, 3) == 0 ? 64 : 16) / g.batch;
  const int64_t rows = (*draw)(1, most), columns = (*draw)(1, most / rows);  // of tiles
  g.input_size = g.output_size = {1, 1, 1};
  for (int a = 1; a < 3; ++a) {
    const int64_t positions = side * (a == 1 ? rows : columns) - (*draw)(0, side - 1);  // of a part
    g.pad_begin[a] = (*draw)(0, 9) == 0 ? (*draw)(4, 9) : (*draw)(0, 3);  // windows of nothing but padding
    const int64_t behind = (*draw)(0, 3);
    if (of_input) {
      const int64_t size = std::max<int64_t>(1, positions * stride - (*draw)(0, stride - 1) - (stride - 1));
      g.input_size[a] = size;
      g.output_size[a] = std::max<int64_t>(1, (size + g.pad_begin[a] + behind - 3) / stride + 1);
    } else {
      g.output_size[a] = positions;
      g.input_size[a] = std::max<int64_t>(1, (positions - 1) * stride + 3 - g.pad_begin[a] - behind);
    }
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

// Panels that are whole lines of memory, and others.
TEST(FewTilesTest, WeightGradientsAreTheSamePastTheCaches) {
  if (kernels::FewTiles() == nullptr) GTEST_SKIP() << "not of this instruction set";
  int past = 0;
  for (uint32_t seed = 400; seed < 480; ++seed) {
    Case c = FewTilesCase(seed, false);
    past += RunPastCaches(&c, "few_tiles", kBackwardWeights);
    // The bound that docs/accuracy.md has for fast algorithms.
    ExpectNear("backward weights", c.weight_result, Expected(c).weight, 3e-6, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  EXPECT_EQ(past, 80);
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

// Every position and tap of both gradients is in one part, and pairs what the definition pairs.
TEST(PartsTest, PairWhatTheDefinitionPairs) {
  for (int64_t stride = 1; stride <= 2; ++stride) {
    for (int64_t pad = 0; pad <= 5; ++pad) {
      for (int64_t size = 1; size <= 9; ++size) {
        Geometry g;
        g.kernel = {1, 3, 3};
        g.stride = {1, stride, stride};
        g.pad_begin = {0, pad, pad};
        g.input_size = {1, size, size};
        g.output_size = {1, (size + 2 * pad) / stride, (size + 2 * pad) / stride};
        const int64_t outputs = g.output_size[2];
        std::vector<std::array<int64_t, 3>> pairs, data, weights;  // input, output, tap
        for (int64_t o = 0; o < outputs; ++o) {
          for (int64_t k = 0; k < 3; ++k) {
            const int64_t x = o * stride - pad + k;
            if (x >= 0 && x < size) pairs.push_back({x, o, k});
          }
        }
        const std::vector<few_tiles::Part> data_parts = few_tiles::DataParts(g),
                                           weights_parts = few_tiles::WeightsParts(g);
        for (int64_t residue = 0; residue < stride; ++residue) {  // of the columns; rows are alike
          const auto taps = [&](int64_t j) { return residue + stride * j; };
          const few_tiles::AxisPart& of_data = data_parts[residue][1];
          for (int64_t p = 0; p < of_data.positions; ++p) {
            for (int64_t j = 0; j < of_data.taps; ++j) {
              const int64_t o = p + of_data.shift + j;
              if (o >= 0 && o < of_data.source_count) {
                data.push_back({of_data.first + of_data.step * p, o, taps(of_data.taps - 1 - j)});
              }
            }
          }
          const few_tiles::AxisPart& of_weights = weights_parts[residue][1];
          for (int64_t p = 0; p < of_weights.positions; ++p) {
            for (int64_t j = 0; j < of_weights.taps; ++j) {
              const int64_t i = p + of_weights.shift + j;
              if (i < 0 || i >= of_weights.source_count) continue;
              weights.push_back({of_weights.source_first + of_weights.source_step * i, p, taps(j)});
            }
          }
        }
        for (auto* all : {&pairs, &data, &weights}) std::sort(all->begin(), all->end());
        EXPECT_EQ(data, pairs) << "stride " << stride << ", padding " << pad << ", size " << size;
        EXPECT_EQ(weights, pairs) << "stride " << stride << ", padding " << pad << ", size " << size;
      }
    }
  }
}

// Tiles cover their part once, and those of a point follow one another.
TEST(TileGridTest, TilesOfAPointAreNeighbours) {
  for (int64_t i = 0; i < 12 * 12 * 9; ++i) {
    few_tiles::Part part;
    part[0].positions = 1 + i / 9 % 12;
    part[1].positions = 1 + i / 9 / 12;
    part[0].taps = 1 + i % 3;
    part[1].taps = 1 + i / 3 % 3;
    if (part[0].taps != part[1].taps && std::min(part[0].taps, part[1].taps) > 1) continue;  // of no kernel
    const few_tiles::TileGrid grid(2, part);
    ASSERT_EQ(grid.count(), 2 * few_tiles::TileCount(part[0]) * few_tiles::TileCount(part[1]));
    std::vector<int> covered(2 * part[0].positions * part[1].positions);
    int64_t products = 0;
    for (const few_tiles::Tile& tile : grid.tiles()) {
      for (int64_t h = tile.first[0]; h < std::min(part[0].positions, tile.first[0] + tile.size[0]); ++h) {
        for (int64_t w = tile.first[1]; w < std::min(part[1].positions, tile.first[1] + tile.size[1]); ++w) {
          ++covered[(tile.image * part[0].positions + h) * part[1].positions + w];
        }
      }
      products += grid.pixels(tile, 0) * grid.pixels(tile, 1);
    }
    EXPECT_EQ(std::count(covered.begin(), covered.end(), 1), static_cast<int64_t>(covered.size()));
    EXPECT_EQ(grid.products(), products);  // as many as windows have pixels
  }
}

}  // namespace
}  // namespace canopy::conv
