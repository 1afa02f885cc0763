// SPDX-License-Identifier: Apache-2.0
#include "conv/few_tiles/tile_numbers.h"

#include <algorithm>
#include <cstring>

namespace canopy::conv::few_tiles {
namespace {

constexpr int64_t kLanes = kernels::kFewTilesLanes;

kernels::WinogradInFn TransformOf(const TileGrid& grid, bool windows, int64_t rows, int64_t columns) {
  const int axes = (grid.transformed(0) ? 1 : 0) + (grid.transformed(1) ? 1 : 0);
  if (axes == 0) return nullptr;
  const kernels::WinogradKernels& transforms = kernels::Winograd(axes);
  if (axes == 1) {  // a line, whatever its direction
    columns *= rows;
    rows = 1;
  }
  return windows ? transforms.input[rows][columns] : transforms.kernel[rows][columns];
}

}  // namespace

TileNumbers::TileNumbers(const TileGrid& grid, const Operand& tensor, const Part& source, bool windows)
    : tensor_(tensor), point_step_(grid.point_step()) {
  const auto size = [&](const Tile& tile, int axis) { return windows ? grid.pixels(tile, axis) : tile.size[axis]; };
  std::array<int64_t, 2> low, high{};
  for (int a = 0; a < 2; ++a) low[a] = source[a].source_count;
  for (const Tile& tile : grid.tiles()) {
    slab_.images = std::max(slab_.images, tile.image + 1);
    for (int a = 0; a < 2; ++a) {
      const int64_t first = tile.first[a] + source[a].shift, count = source[a].source_count;
      low[a] = std::min(low[a], std::clamp<int64_t>(first, 0, count));
      high[a] = std::max(high[a], std::clamp<int64_t>(first + size(tile, a), 0, count));
    }
  }
  slab_.axes[0] = {0, 1, 1};
  for (int a = 0; a < 2; ++a) {
    const AxisPart& along = source[a];
    slab_.axes[a + 1] = {along.source_first + low[a] * along.source_step, along.source_step,
                         std::max<int64_t>(0, high[a] - low[a])};
  }
  slab_.panel = kLanes;
  for (const Tile& tile : grid.tiles()) {
    const int64_t rows = size(tile, 0), columns = size(tile, 1);
    Transform& transform = transforms_.emplace_back();
    transform.run = TransformOf(grid, windows, rows, columns);
    for (int64_t e = 0; e < rows * columns; ++e) {
      const int64_t h = tile.first[0] + source[0].shift + e / columns - low[0];
      const int64_t w = tile.first[1] + source[1].shift + e % columns - low[1];
      const bool exists = h >= 0 && w >= 0 && h < slab_.axes[1].count && w < slab_.axes[2].count;
      // The slab's first pixel is one of zeros.
      transform.offsets[e] = exists ? (1 + slab_.Pixel(0, h, w) + tile.image) * kLanes : 0;
    }
  }
}

TileNumbers TileNumbers::OfWindows(const TileGrid& grid, const Part& part, const Operand& tensor) {
  return TileNumbers(grid, tensor, part, true);
}

TileNumbers TileNumbers::OfTiles(const TileGrid& grid, const Part& part, const Operand& tensor) {
  Part positions;
  for (int a = 0; a < 2; ++a) positions[a].source_count = part[a].positions;
  return TileNumbers(grid, tensor, positions, false);
}

void TileNumbers::Make(const LineReader& reader, int64_t first, int64_t channels, const packing::SlabScratch& lines,
                       float* slab, float* numbers) const {
  packing::SlabShape shape = slab_;
  shape.first_channel = first;
  shape.channels = channels;
  std::fill(slab, slab + (channels < kLanes ? slab_floats() : kLanes), 0.0f);
  packing::LoadSlab(reader, tensor_, shape, lines, slab + kLanes);
  for (const Transform& transform : transforms_) {
    if (transform.run != nullptr) {
      transform.run(slab, transform.offsets.data(), kLanes, numbers, point_step_);
    } else {
      std::memcpy(numbers, slab + transform.offsets[0], kLanes * sizeof(float));
    }
    numbers += kLanes;
  }
}

void MakeBlock(const std::vector<TileNumbers>& parts, const std::vector<TileGrid>& grids, const LineReader& reader,
               const ChannelBlock& block, const packing::SlabScratch& lines, float* slab, float* numbers) {
  const int64_t first = block.index * kLanes, channels = std::min(kLanes, block.group_channels - first);
  for (size_t part = 0; part < parts.size(); ++part) {
    parts[part].Make(reader, block.group * block.group_channels + first, channels, lines, slab, numbers);
    numbers += grids[part].block_floats();
  }
}

}  // namespace canopy::conv::few_tiles
