// SPDX-License-Identifier: Apache-2.0
#include "conv/few_tiles/tile_numbers.h"

#include <algorithm>

namespace canopy::conv::few_tiles {

TileNumbers::TileNumbers(const TileGrid& grid, const Operand& tensor, const Extent3& size, std::array<int64_t, 2> shift,
                         int64_t more)
    : tensor_(tensor), more_(more) {
  constexpr int64_t kLanes = kernels::kFewTilesLanes;
  std::array<int64_t, 2> low = {size[1], size[2]}, high{};
  for (const Tile& tile : grid.tiles()) {
    slab_.images = std::max(slab_.images, tile.image + 1);
    for (int a = 0; a < 2; ++a) {
      const int64_t first = tile.first[a] + shift[a];
      low[a] = std::min(low[a], std::clamp<int64_t>(first, 0, size[a + 1]));
      high[a] = std::max(high[a], std::clamp<int64_t>(first + tile.size[a] + more, 0, size[a + 1]));
    }
  }
  slab_.axes[0] = {0, 1, 1};
  for (int a = 0; a < 2; ++a) slab_.axes[a + 1] = {low[a], 1, std::max<int64_t>(0, high[a] - low[a])};
  slab_.panel = kLanes;
  for (const Tile& tile : grid.tiles()) {
    sizes_.push_back({tile.size[0] + more, tile.size[1] + more});
    auto& offsets = offsets_.emplace_back();
    for (int64_t e = 0; e < sizes_.back()[0] * sizes_.back()[1]; ++e) {
      const int64_t h = tile.first[0] + shift[0] + e / sizes_.back()[1] - low[0];
      const int64_t w = tile.first[1] + shift[1] + e % sizes_.back()[1] - low[1];
      const bool exists = h >= 0 && w >= 0 && h < slab_.axes[1].count && w < slab_.axes[2].count;
      // The slab's first pixel is one of zeros.
      offsets[e] = exists ? (1 + slab_.Pixel(0, h, w) + tile.image) * kLanes : 0;
    }
  }
}

TileNumbers TileNumbers::OfWindows(const TileGrid& grid, const Operand& tensor, const Extent3& size,
                                   std::array<int64_t, 2> shift) {
  return TileNumbers(grid, tensor, size, shift, kKernel - 1);
}

TileNumbers TileNumbers::OfTiles(const TileGrid& grid, const Operand& tensor, const Extent3& size) {
  return TileNumbers(grid, tensor, size, {0, 0}, 0);
}

void TileNumbers::Make(const LineReader& reader, int64_t first, int64_t channels, const packing::SlabScratch& lines,
                       float* slab, float* numbers) const {
  constexpr int64_t kLanes = kernels::kFewTilesLanes;
  packing::SlabShape shape = slab_;
  shape.first_channel = first;
  shape.channels = channels;
  std::fill(slab, slab + (channels < kLanes ? slab_floats() : kLanes), 0.0f);
  packing::LoadSlab(reader, tensor_, shape, lines, slab + kLanes);
  const kernels::WinogradKernels& transforms = kernels::Winograd(2);
  const int64_t step = static_cast<int64_t>(sizes_.size()) * kLanes;
  for (size_t t = 0; t < sizes_.size(); ++t, numbers += kLanes) {
    const auto [rows, columns] = sizes_[t];
    const kernels::WinogradInFn transform =
        more_ > 0 ? transforms.input[rows][columns] : transforms.kernel[rows][columns];
    transform(slab, offsets_[t].data(), kLanes, numbers, step);
  }
}

}  // namespace canopy::conv::few_tiles
