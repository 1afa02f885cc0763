// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/few_tiles/contract.h"

namespace canopy::kernels {
namespace {

constexpr int kLanes = kFewTilesLanes, kTaps = kFewTilesTaps;
constexpr float kUnread =
    std::numeric_limits<float>::quiet_NaN();  // between what counts, and where a tile lacks a point
constexpr int64_t kRow = kLanes * kTaps + 7;  // from kernels to kernels

// So many floats from the beginning of a line of the cache on.
struct Lines {
  explicit Lines(size_t floats) : data(floats + kLanes, kUnread) {
    at = data.data() + (64 - reinterpret_cast<uintptr_t>(data.data()) % 64) % 64 / sizeof(float);
  }
  std::vector<float> data;
  float* at;
};

class FewTilesTest : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    if (FewTiles() == nullptr) GTEST_SKIP() << "not of this instruction set";
  }

 private:
  const ScopedTarget scoped_{GetParam()};
};

// Tiles of which the first has fewer columns and the last fewer rows, if there are several: every point's tiles are
// neighbours.
struct Tiles {
  explicit Tiles(int count) : count(count) {
    for (int t = 0; t < count; ++t) {
      rows.push_back(t + 1 == count && count > 1 ? 3 : 4);
      columns.push_back(t == 0 && count > 1 ? 2 : 4);
    }
    for (int point = 0; point < kSquarePoints; ++point) {
      TileRange& range = points.ranges[point];
      while (range.first < count && !Has(range.first, point)) ++range.first;
      while (range.first + range.count < count && Has(range.first + range.count, point)) ++range.count;
      points.order[point] = point;
    }
    std::stable_sort(points.order.begin(), points.order.end(),
                     [this](int a, int b) { return points.ranges[a].count < points.ranges[b].count; });
  }

  bool Has(int tile, int point) const {
    const auto has = [](int results, int at) { return at + 1 < results + 2 || at == 5; };
    return has(rows[tile], point / 6) && has(columns[tile], point % 6);
  }

  int count;
  std::vector<int> rows, columns;  // results, or numbers of the tile itself
  FewTilesPoints points{};
};

// A rectangle of each tile: [tile][row][column][lane].
struct Rectangles {
  Rectangles(const Tiles& tiles, int more, std::mt19937* random) : more(more) {
    std::uniform_real_distribution<float> real(-1, 1);
    for (int t = 0; t < tiles.count; ++t) {
      data.emplace_back((tiles.rows[t] + more) * (tiles.columns[t] + more) * kLanes);
      for (float& value : data.back()) value = real(*random);
    }
  }
  double At(const Tiles& tiles, int tile, int row, int column, int lane) const {
    return data[tile][(row * (tiles.columns[tile] + more) + column) * kLanes + lane];
  }

  int more;
  std::vector<std::vector<float>> data;
};

// At the points, NaN where a tile has none.
std::vector<float> NumbersOf(const Rectangles& rectangles, const Tiles& tiles, int64_t point_step) {
  std::vector<float> numbers(static_cast<size_t>(kSquarePoints * point_step), kUnread);
  for (int t = 0; t < tiles.count; ++t) {
    const int rows = tiles.rows[t] + rectangles.more, columns = tiles.columns[t] + rectangles.more;
    std::vector<int64_t> offsets(rows * columns);
    for (size_t e = 0; e < offsets.size(); ++e) offsets[e] = static_cast<int64_t>(e) * kLanes;
    const WinogradKernels& transforms = Winograd(2);
    const WinogradInFn transform =
        rectangles.more > 0 ? transforms.input[rows][columns] : transforms.kernel[rows][columns];
    transform(rectangles.data[t].data(), offsets.data(), kLanes, numbers.data() + t * kLanes, point_step);
    for (int point = 0; point < kSquarePoints; ++point) {
      if (tiles.Has(t, point)) continue;
      std::fill_n(numbers.begin() + point * point_step + t * kLanes, kLanes, kUnread);
    }
  }
  return numbers;
}

TEST_P(FewTilesTest, SumsOfProductsAreMirroredCorrelations) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> real(-1, 1);
  for (int count = 1; count <= kMostFewTiles; ++count) {
    const Tiles tiles(count);
    const int64_t step = count * kLanes + 32, blocks = 3;
    std::vector<Rectangles> windows;
    std::vector<std::vector<float>> kernels;
    const Lines points(kSquarePoints * kFewTilesSources * kLanes);
    const Lines sums(static_cast<size_t>(kSquarePoints * count * kLanes));
    for (int block = 0; block < blocks; ++block) {
      windows.emplace_back(tiles, 2, &random);
      kernels.emplace_back(kFewTilesSources * kRow - 7);  // reading behind the last is reading behind the vector
      for (float& value : kernels.back()) value = real(random);
      // The second half of the windows' channels, to see that the first is not meant.
      const std::vector<float> numbers = NumbersOf(windows.back(), tiles, step);
      FewTiles()->add_products(kernels.back().data(), kRow, {numbers.data() + kLanes - kFewTilesSources, step},
                               tiles.points, count, block > 0, {}, points.at, sums.at);
    }
    for (int t = 0; t < count; ++t) {
      std::vector<float> results(16 * kLanes);
      std::vector<int64_t> offsets(16);
      for (int e = 0; e < 16; ++e) offsets[e] = e * kLanes;
      Winograd(2).results[3][tiles.rows[t]][tiles.columns[t]](sums.at + t * kLanes, count * kLanes, kLanes,
                                                              results.data(), offsets.data());
      for (int e = 0; e < tiles.rows[t] * tiles.columns[t]; ++e) {
        for (int lane = 0; lane < kLanes; ++lane) {
          double expected = 0;
          for (int block = 0; block < blocks; ++block) {
            for (int s = 0; s < kFewTilesSources; ++s) {
              for (int k = 0; k < kTaps; ++k) {
                expected += windows[block].At(tiles, t, e / tiles.columns[t] + k / 3, e % tiles.columns[t] + k % 3,
                                              kLanes - kFewTilesSources + s) *
                            kernels[block][s * kRow + lane * kTaps + kTaps - 1 - k];
              }
            }
          }
          // Sums of 216 terms up to 1; the transforms raise the rounding of 2^-24 by two orders at most.
          EXPECT_NEAR(results[e * kLanes + lane], expected, 3e-4) << count << " tiles, " << t << ", result " << e;
        }
      }
    }
    if (HasFailure()) return;
  }
}

TEST_P(FewTilesTest, GradientsAreCorrelationsOverAllTiles) {
  std::mt19937 random(8);
  for (int count = 1; count <= kMostFewTiles; ++count) {
    const Tiles tiles(count);
    const int64_t step = count * kLanes + 16;
    const Rectangles windows(tiles, 2, &random), outputs(tiles, 0, &random);
    const std::vector<float> inputs = NumbersOf(windows, tiles, step), at = NumbersOf(outputs, tiles, step);
    const Lines numbers(inputs.size());
    std::copy(inputs.begin(), inputs.end(), numbers.at);
    std::vector<float> gradients(kFewTilesOutputs * kRow, kUnread);
    constexpr int kFirst = 8;  // of the output channels
    FewTiles()->make_gradients({numbers.at, step}, {at.data() + kFirst, step}, tiles.points, {}, gradients.data(),
                               kRow);
    for (int o = 0; o < kFewTilesOutputs; ++o) {
      for (int64_t i = 0; i < kRow; ++i) {
        const int lane = static_cast<int>(i / kTaps), k = static_cast<int>(i % kTaps);
        if (lane >= kLanes) {
          EXPECT_TRUE(std::isnan(gradients[o * kRow + i]));  // nothing else is written
          continue;
        }
        double expected = 0;
        for (int t = 0; t < count; ++t) {
          for (int e = 0; e < tiles.rows[t] * tiles.columns[t]; ++e) {
            const int row = e / tiles.columns[t], column = e % tiles.columns[t];
            expected +=
                windows.At(tiles, t, row + k / 3, column + k % 3, lane) * outputs.At(tiles, t, row, column, kFirst + o);
          }
        }
        // Sums of at most 512 terms up to 1, as above.
        EXPECT_NEAR(gradients[o * kRow + i], expected, 3e-4) << count << " tiles, output " << o << ", number " << i;
      }
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FewTilesTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
