// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/few_tiles/contract.h"
#include "tests/kernels/random_floats.h"

namespace canopy::kernels {
namespace {

constexpr int kLanes = kFewTilesLanes, kTaps = kFewTilesTaps;
constexpr float kUnread =
    std::numeric_limits<float>::quiet_NaN();  // between what counts, and where a tile lacks a point
constexpr int kCounts[] = {1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 15, 16, 17, 25, 32, 33, 50};  // of tiles

// A panel's kernels, in floats, and from those to the next.
int64_t PanelFloats(int vectors) { return int64_t{vectors} * kLanes * kTaps; }
int64_t Row(int vectors) { return PanelFloats(vectors) + 7; }

// So many floats from the beginning of a line of the cache on.
struct Lines {
  explicit Lines(size_t floats) : data(floats + kLanes, kUnread) {
    at = data.data() + (64 - reinterpret_cast<uintptr_t>(data.data()) % 64) % 64 / sizeof(float);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  std::vector<float> data;
  float* at;
};

// What a stride leaves of a kernel, by rows and columns.
struct Part {
  int rows, columns;  // taps

  int axes() const { return (rows > 1 ? 1 : 0) + (columns > 1 ? 1 : 0); }
  int taps() const { return std::max(rows, columns); }
  // The kernel's number for tap (i, j).
  int Number(int i, int j) const { return 3 * Offset(rows, i) + Offset(columns, j); }
  static int Offset(int taps, int i) { return taps == 3 ? i : taps == 2 ? 2 * i : 1; }
};

std::vector<Part> PartsOf(int stride) {
  if (stride == 1) return {{3, 3}};
  return {{2, 2}, {2, 1}, {1, 2}, {1, 1}};
}

// Tiles of which the first has fewer columns and the last fewer rows, if there are several: every point's tiles are
// neighbours.
struct Tiles {
  Tiles(const Part& part, int count) : part(part), count(count) {
    for (int t = 0; t < count; ++t) {
      rows.push_back(Side(part.rows) - (part.rows > 1 && t + 1 == count && count > 1 ? 1 : 0));
      columns.push_back(Side(part.columns) - (part.columns > 1 && t == 0 && count > 1 ? 2 : 0));
    }
    points.count = (part.rows > 1 ? 6 : 1) * (part.columns > 1 ? 6 : 1);
    for (int point = 0; point < points.count; ++point) {
      TileRange& range = points.ranges[point];
      while (range.first < count && !Has(range.first, point)) ++range.first;
      while (range.first + range.count < count && Has(range.first + range.count, point)) ++range.count;
      points.order[point] = point;
    }
    for (auto row = points.order.begin(); row < points.order.begin() + points.count; row += 6) {
      std::stable_sort(row, row + std::min(points.count, 6),
                       [this](int a, int b) { return points.ranges[a].count < points.ranges[b].count; });
    }
  }

  static int Side(int taps) { return taps > 1 ? 7 - taps : 1; }
  bool Has(int tile, int point) const {
    const auto has = [](int pixels, int at) { return at + 1 < pixels || at == 5; };
    if (part.columns > 1 && !has(columns[tile] + part.columns - 1, point % 6)) return false;
    if (part.columns > 1) point /= 6;
    return part.rows == 1 || has(rows[tile] + part.rows - 1, point);
  }

  Part part;
  int count;
  std::vector<int> rows, columns;  // results, or numbers of the tile itself
  FewTilesPoints points{};
};

// A rectangle of each tile: a window, or the tile itself. [tile][row][column][lane]
struct Rectangles {
  Rectangles(const Tiles& tiles, bool windows, std::mt19937* random) : tiles(tiles), windows(windows) {
    for (int t = 0; t < tiles.count; ++t) {
      data.push_back(RandomFloats(Rows(t) * Columns(t) * kLanes, static_cast<uint32_t>((*random)())));
    }
  }
  int Rows(int tile) const { return tiles.rows[tile] + (windows ? tiles.part.rows - 1 : 0); }
  int Columns(int tile) const { return tiles.columns[tile] + (windows ? tiles.part.columns - 1 : 0); }
  double At(int tile, int row, int column, int lane) const {
    return data[tile][(row * Columns(tile) + column) * kLanes + lane];
  }

  const Tiles& tiles;
  bool windows;
  std::vector<std::vector<float>> data;
};

std::vector<int64_t> OffsetsOf(int count) {
  std::vector<int64_t> offsets(count);
  for (int e = 0; e < count; ++e) offsets[e] = e * kLanes;
  return offsets;
}

// Writes the rectangles' numbers at the points, NaN where a tile has none.
void WriteNumbers(const Rectangles& rectangles, int64_t point_step, float* numbers) {
  const Tiles& tiles = rectangles.tiles;
  const int axes = tiles.part.axes();
  std::fill_n(numbers, tiles.points.count * point_step, kUnread);
  for (int t = 0; t < tiles.count; ++t) {
    int rows = rectangles.Rows(t), columns = rectangles.Columns(t);
    const std::vector<int64_t> offsets = OffsetsOf(rows * columns);
    const float* from = rectangles.data[t].data();
    if (axes == 0) {
      std::memcpy(numbers + t * kLanes, from, kLanes * sizeof(float));
      continue;
    }
    if (axes == 1) {
      columns *= rows;
      rows = 1;
    }
    const WinogradKernels& transforms = Winograd(axes);
    (rectangles.windows ? transforms.input[rows][columns] : transforms.kernel[rows][columns])(
        from, offsets.data(), kLanes, numbers + t * kLanes, point_step);
    for (int point = 0; point < tiles.points.count; ++point) {
      if (!tiles.Has(t, point)) std::fill_n(numbers + point * point_step + t * kLanes, kLanes, kUnread);
    }
  }
}

class FewTilesTest : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    if (FewTiles() == nullptr) GTEST_SKIP() << "not of this instruction set";
  }

 private:
  const ScopedTarget scoped_{GetParam()};
};

// Of so many tiles in each part, by blocks of sources.
void ExpectMirroredCorrelations(int vectors, int stride, int count) {
  constexpr int kBlocks = 3;
  const int64_t row_floats = Row(vectors), tile_floats = int64_t{vectors} * kLanes;
  const int64_t sums_step = count * tile_floats + 16;
  std::mt19937 random(static_cast<uint32_t>(7 + count));
  std::vector<Tiles> tiles;
  for (const Part& part : PartsOf(stride)) tiles.emplace_back(part, count);
  std::vector<std::unique_ptr<Lines>> sums;
  for (const Tiles& of : tiles) sums.push_back(std::make_unique<Lines>(of.points.count * sums_step));
  const Lines work(FewTilesWork(vectors));
  std::vector<std::vector<float>> kernels;
  std::vector<std::vector<Rectangles>> windows;
  for (int block = 0; block < kBlocks; ++block) {
    // What is behind the last is behind the vector.
    kernels.push_back(RandomFloats(kFewTilesSources * row_floats - 7, static_cast<uint32_t>(random())));
    std::vector<Rectangles>& of_block = windows.emplace_back();
    std::vector<std::vector<float>> numbers;
    std::vector<FewTilesSums> parts;
    for (size_t i = 0; i < tiles.size(); ++i) {
      const int64_t step = count * kLanes + 32;
      of_block.emplace_back(tiles[i], true, &random);
      WriteNumbers(of_block.back(), step, numbers.emplace_back(tiles[i].points.count * step).data());
      parts.push_back({{numbers.back().data(), step}, &tiles[i].points, sums[i]->at, sums_step});
    }
    FewTiles()[vectors].add_products[stride](kernels.back().data(), row_floats, parts.data(), block > 0, {}, work.at);
  }
  for (size_t i = 0; i < tiles.size(); ++i) {
    const Part& part = tiles[i].part;
    for (int tv = 0; tv < count * vectors; ++tv) {
      const int t = tv / vectors, v = tv % vectors;
      const int rows = tiles[i].rows[t], columns = tiles[i].columns[t], axes = part.axes();
      std::vector<float> results(rows * columns * kLanes);
      const float* from = sums[i]->at + tv * kLanes;
      if (axes == 0) {
        std::memcpy(results.data(), from, kLanes * sizeof(float));
      } else {
        const auto& transforms = Winograd(axes).results[part.taps()];
        (axes == 2 ? transforms[rows][columns] : transforms[1][rows * columns])(from, sums_step, kLanes, results.data(),
                                                                                OffsetsOf(rows * columns).data());
      }
      for (int e = 0; e < rows * columns * kLanes; ++e) {
        const int row = e / kLanes / columns, column = e / kLanes % columns, lane = v * kLanes + e % kLanes;
        double expected = 0;
        for (int block = 0; block < kBlocks; ++block) {
          for (int s = 0; s < kFewTilesSources; ++s) {
            for (int k = 0; k < part.rows * part.columns; ++k) {
              const int y = k / part.columns, x = k % part.columns;
              const int number = part.Number(part.rows - 1 - y, part.columns - 1 - x);
              expected += windows[block][i].At(t, row + y, column + x, s) *
                          kernels[block][s * row_floats + lane * kTaps + number];
            }
          }
        }
        // Sums of at most 432 terms up to 1; the transforms raise the rounding of 2^-24 by two orders at most.
        ASSERT_NEAR(results[e], expected, 3e-4) << count << " tiles, part " << i << ", tile " << t << ", number " << e;
      }
    }
  }
}

TEST_P(FewTilesTest, SumsOfProductsAreMirroredCorrelations) {
  for (int vectors = 1; vectors <= kMostFewTilesVectors; ++vectors) {
    for (int stride = 1; stride <= kMostFewTilesStride; ++stride) {
      for (const int count : kCounts) {
        ExpectMirroredCorrelations(vectors, stride, count);
        if (HasFatalFailure()) return;
      }
    }
  }
}

void ExpectCorrelationsOverAllTiles(int vectors, int stride, int count) {
  constexpr int kFirst = 8;  // of the output channels
  const int64_t row_floats = Row(vectors);
  std::mt19937 random(static_cast<uint32_t>(80 + count));
  std::vector<Tiles> tiles;
  for (const Part& part : PartsOf(stride)) tiles.emplace_back(part, count);
  std::vector<std::vector<Rectangles>> windows;  // of each vector
  std::vector<Rectangles> outputs;
  std::vector<std::unique_ptr<Lines>> inputs;
  std::vector<std::vector<float>> numbers;
  std::vector<FewTilesProducts> parts;
  for (const Tiles& of : tiles) {
    const int64_t step = count * kLanes + 16, floats = of.points.count * step, input_step = floats + 32;
    inputs.push_back(std::make_unique<Lines>(vectors * input_step));
    windows.emplace_back();
    for (int v = 0; v < vectors; ++v) {
      windows.back().emplace_back(of, true, &random);
      WriteNumbers(windows.back().back(), step, inputs.back()->at + v * input_step);
    }
    outputs.emplace_back(of, false, &random);
    WriteNumbers(outputs.back(), step, numbers.emplace_back(floats).data());
    parts.push_back({{inputs.back()->at, step}, {numbers.back().data() + kFirst, step}, input_step, &of.points});
  }
  std::vector<float> gradients(kFewTilesOutputs * row_floats, kUnread);
  FewTiles()[vectors].make_gradients[stride](parts.data(), {}, gradients.data(), row_floats);
  for (size_t i = 0; i < tiles.size(); ++i) {
    const Part& part = tiles[i].part;
    const int lanes = vectors * kLanes;
    for (int k = 0; k < part.rows * part.columns * kFewTilesOutputs * lanes; ++k) {
      const int lane = k % lanes, o = k / lanes % kFewTilesOutputs, tap = k / lanes / kFewTilesOutputs;
      const int y = tap / part.columns, x = tap % part.columns;
      double expected = 0;
      for (int t = 0; t < count; ++t) {
        for (int e = 0; e < tiles[i].rows[t] * tiles[i].columns[t]; ++e) {
          const int row = e / tiles[i].columns[t], column = e % tiles[i].columns[t];
          expected += windows[i][lane / kLanes].At(t, row + y, column + x, lane % kLanes) *
                      outputs[i].At(t, row, column, kFirst + o);
        }
      }
      // Sums of at most 1250 terms up to 1, as above.
      ASSERT_NEAR(gradients[o * row_floats + lane * kTaps + part.Number(y, x)], expected, 1e-3)
          << count << " tiles, part " << i << ", output " << o << ", lane " << lane << ", tap " << tap;
    }
  }
  for (int64_t i = 0; i < kFewTilesOutputs * row_floats; ++i) {
    EXPECT_EQ(std::isnan(gradients[i]), i % row_floats >= PanelFloats(vectors));  // nothing else is written
  }
}

TEST_P(FewTilesTest, GradientsAreCorrelationsOverAllTiles) {
  for (int vectors = 1; vectors <= kMostFewTilesVectors; ++vectors) {
    for (int stride = 1; stride <= kMostFewTilesStride; ++stride) {
      for (const int count : kCounts) {
        ExpectCorrelationsOverAllTiles(vectors, stride, count);
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FewTilesTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
