// SPDX-License-Identifier: Apache-2.0
#include "conv/few_tiles/tile_grid.h"

#include <algorithm>

namespace canopy::conv::few_tiles {
namespace {

// Where a tile with fewer rows, or columns, stands among the others, so that those of a point are neighbours: those of
// fewer rows alone first, then the whole ones, those of fewer columns alone, and the corners.
int OrderOf(const Tile& tile) {
  const bool rows = tile.size[0] < kSide, columns = tile.size[1] < kSide;
  return rows ? (columns ? 3 : 0) : (columns ? 2 : 1);
}

// Whether a window for so many results has numbers at point `index` of an axis: the last is infinity.
bool Has(int64_t results, int64_t index) {
  return index + 1 < results + kKernel - 1 || index + 1 == kernels::kWinogradPoints;
}

}  // namespace

TileGrid::TileGrid(int64_t batch, const Extent3& size) {
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t h = 0; h < size[1]; h += kSide) {
      for (int64_t w = 0; w < size[2]; w += kSide) {
        tiles_.push_back({n, {h, w}, {std::min(kSide, size[1] - h), std::min(kSide, size[2] - w)}});
      }
    }
  }
  std::stable_sort(tiles_.begin(), tiles_.end(), [](const Tile& a, const Tile& b) { return OrderOf(a) < OrderOf(b); });
  for (int32_t point = 0; point < kernels::kSquarePoints; ++point) {
    const auto has = [point](const Tile& tile) {
      return Has(tile.size[0], point / kernels::kWinogradPoints) && Has(tile.size[1], point % kernels::kWinogradPoints);
    };
    kernels::TileRange& range = points_.ranges[point];
    const auto first = std::find_if(tiles_.begin(), tiles_.end(), has);
    range.first = static_cast<int32_t>(first - tiles_.begin());
    range.count = static_cast<int32_t>(std::find_if_not(first, tiles_.end(), has) - first);
    points_.order[point] = point;
  }
  std::stable_sort(points_.order.begin(), points_.order.end(),
                   [this](int32_t a, int32_t b) { return points_.ranges[a].count < points_.ranges[b].count; });
}

int64_t TileGrid::products() const {
  int64_t count = 0;
  for (const kernels::TileRange& range : points_.ranges) count += range.count;
  return count;
}

}  // namespace canopy::conv::few_tiles
