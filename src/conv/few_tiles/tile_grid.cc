// SPDX-License-Identifier: Apache-2.0
#include "conv/few_tiles/tile_grid.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::conv::few_tiles {
namespace {

struct Stretch {
  int64_t first, size;
};

// An axis' positions in as many tiles as are needed, the first ones larger by one at most.
std::vector<Stretch> Cut(const AxisPart& part) {
  const int64_t tiles = TileCount(part);
  std::vector<Stretch> cut;
  for (int64_t t = 0, first = 0; t < tiles; ++t) {
    const int64_t size = base::CeilDiv(part.positions - first, tiles - t);
    // A window of the fewest points may have room for more.
    const int64_t least = part.taps > 1 ? kernels::kFewestWinogradPoints + 1 - part.taps : 1;
    cut.push_back({first, std::max(size, least)});
    first += size;
  }
  return cut;
}

}  // namespace

int64_t TileCount(const AxisPart& part) {
  const int64_t side = part.taps > 1 ? kernels::kWinogradPoints + 1 - part.taps : 1;
  return base::CeilDiv(part.positions, side);
}

TileGrid::TileGrid(int64_t batch, const Part& part) : taps_{part[0].taps, part[1].taps} {
  const std::vector<Stretch> rows = Cut(part[0]), columns = Cut(part[1]);
  // The smaller ones along an axis have fewer points. So that those of a point are neighbours: tiles of fewer rows
  // alone first, then the larger ones, those of fewer columns alone, and those of both.
  const auto order = [&](const Tile& tile) {
    const bool fewer_rows = tile.size[0] < rows.front().size, fewer_columns = tile.size[1] < columns.front().size;
    return fewer_rows ? (fewer_columns ? 3 : 0) : (fewer_columns ? 2 : 1);
  };
  for (int64_t n = 0; n < batch; ++n) {
    for (const Stretch& h : rows) {
      for (const Stretch& w : columns) tiles_.push_back({n, {h.first, w.first}, {h.size, w.size}});
    }
  }
  std::stable_sort(tiles_.begin(), tiles_.end(), [&](const Tile& a, const Tile& b) { return order(a) < order(b); });
  points_.count = 1;
  for (int axis = 0; axis < 2; ++axis) points_.count *= transformed(axis) ? kernels::kWinogradPoints : 1;
  for (int32_t point = 0; point < points_.count; ++point) {
    const auto has = [&](const Tile& tile) { return Has(tile, point); };
    kernels::TileRange& range = points_.ranges[point];
    const auto first = std::find_if(tiles_.begin(), tiles_.end(), has);
    range.first = static_cast<int32_t>(first - tiles_.begin());
    range.count = static_cast<int32_t>(std::find_if_not(first, tiles_.end(), has) - first);
    points_.order[point] = point;
  }
  const auto fewer = [&](int32_t a, int32_t b) { return points_.ranges[a].count < points_.ranges[b].count; };
  for (int32_t row = 0; row < points_.count; row += kernels::kWinogradPoints) {
    const auto first = points_.order.begin() + row;
    std::stable_sort(first, first + std::min(points_.count - row, kernels::kWinogradPoints), fewer);
  }
}

bool TileGrid::Has(const Tile& tile, int32_t point) const {
  for (int axis = 1; axis >= 0; --axis) {
    if (!transformed(axis)) continue;
    const int32_t index = point % kernels::kWinogradPoints;
    point /= kernels::kWinogradPoints;
    // The last is infinity.
    if (index + 1 >= pixels(tile, axis) && index + 1 < kernels::kWinogradPoints) return false;
  }
  return true;
}

int64_t TileGrid::products() const {
  int64_t count = 0;
  for (int32_t point = 0; point < points_.count; ++point) count += points_.ranges[point].count;
  return count;
}

int64_t BlockFloats(const std::vector<TileGrid>& grids) {
  int64_t floats = 0;
  for (const TileGrid& grid : grids) floats += grid.block_floats();
  return floats;
}

int64_t Products(const std::vector<TileGrid>& grids) {
  int64_t count = 0;
  for (const TileGrid& grid : grids) count += grid.products();
  return count;
}

}  // namespace canopy::conv::few_tiles
