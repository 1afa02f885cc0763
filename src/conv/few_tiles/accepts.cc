// SPDX-License-Identifier: Apache-2.0
// Gradients of many kernels of 3x3 that few tiles of results meet, by Winograd's method: one image of 7x7, say.
// Kernels are transformed where they are multiplied, and what they are at the points is never stored for long, since
// that would cost more than the products.
#include <string_view>

#include "conv/few_tiles/tile_grid.h"

namespace canopy::conv::few_tiles {
namespace {

constexpr int64_t kLeastChannels = 16;
constexpr int64_t kMostTiles = 64;  // of all images

// Whether kernels, and their input channels, follow one another.
bool KernelsRun(const Operand& weight) {
  const auto& s = weight.strides;
  return s[4] == 1 && s[3] == kKernel && s[1] == kernels::kFewTilesTaps;
}

bool FewTiles(const Geometry& g, bool weights) {
  constexpr int64_t kMostPositions = kMostTiles * kernels::kWinogradPoints;
  const Extent3& size = weights ? g.output_size : g.input_size;
  if (g.batch > kMostTiles || size[1] > kMostPositions || size[2] > kMostPositions) return false;
  const Part most = (weights ? WeightsParts(g) : DataParts(g)).front();
  return g.batch * TileCount(most[0]) * TileCount(most[1]) <= kMostTiles;
}

}  // namespace

std::string_view Accepts(const ConvProblem& problem, Computation computation) {
  if (computation != kBackwardData && computation != kBackwardWeights) return "it computes gradients only";
  if (problem.has_bias) return "it adds no bias";
  if (kernels::FewTiles() == nullptr) return "the processor has no vectors of 16 numbers";
  const Geometry& g = problem.geometry;
  const Extent3 one{1, 1, 1};
  if (g.kernel != Extent3{1, kKernel, kKernel} || g.dilation != one || g.pad_begin[0] != 0 || g.input_size[0] != 1 ||
      g.output_size[0] != 1 || g.stride[1] != g.stride[2] || g.stride[1] > kernels::kMostFewTilesStride) {
    return "the kernel is not 3x3 with a stride of 1 or 2 and without dilation";
  }
  if (g.group_input_channels() < kLeastChannels || g.group_output_channels() < kLeastChannels) {
    return "a group has fewer than 16 channels";
  }
  const bool weights = computation == kBackwardWeights;
  const Extent3& results = weights ? g.output_size : g.input_size;
  if (g.batch == 0 || results[1] == 0 || results[2] == 0) return "there is nothing to compute";
  if (!FewTiles(g, weights)) return "there are more than 64 tiles of 4x4, or 5x5 with a stride";
  return KernelsRun(weights ? problem.weight_result : problem.weight)
             ? ""
             : "the kernels of an output channel are not one run";
}

}  // namespace canopy::conv::few_tiles
