// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/tiling.h"

namespace canopy::conv::winograd {
namespace {

constexpr int64_t kWindow = 6, kTapChoices[] = {3, 4};
// Which axes are transformed, as bits; planes first.
constexpr unsigned kAxisChoices[] = {0b110, 0b101, 0b011, 0b100, 0b010, 0b001};

}  // namespace

std::vector<Tiling> Tilings(const Extent3& kernel, const Extent3& dilation) {
  std::vector<Tiling> tilings;
  for (const int64_t taps : kTapChoices) {
    for (const unsigned choice : kAxisChoices) {
      Tiling tiling;
      tiling.tile_side = kWindow - taps + 1;
      tiling.taps_side = taps;
      bool serves = true;
      for (int axis = 0; axis < 3; ++axis) {
        AxisTiling& along = tiling.axes[axis];
        if ((choice >> axis & 1) != 0) {
          serves = serves && kernel[axis] >= taps;
          along = {tiling.tile_side, kWindow, taps, base::CeilDiv(kernel[axis], taps)};
          ++tiling.transformed;
        } else {
          along.terms = kernel[axis];
        }
        along.dilation = kernel[axis] > 1 ? dilation[axis] : 1;
        serves = serves && along.terms >= 1 && along.terms <= kMostTerms;
      }
      if (serves && tiling.terms() <= kMostTerms) tilings.push_back(tiling);
    }
  }
  return tilings;
}

}  // namespace canopy::conv::winograd
