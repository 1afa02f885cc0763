// SPDX-License-Identifier: Apache-2.0
// What weight gradients transform: one axis or two on which the kernel has 3 offsets, where 4 outputs under 6 inputs
// make a tile. On the others a tile is one position. Where the depth is not transformed, each offset of the kernel's
// depth is a product of its own over the same tiles: of output tiles by the input tiles that many depths further.
#ifndef CANOPY_CONV_WINOGRAD_WEIGHTS_SHAPE_H_
#define CANOPY_CONV_WINOGRAD_WEIGHTS_SHAPE_H_

#include <cstdint>

#include "base/checked_math.h"
#include "conv/problem.h"
#include "conv/winograd/sizes.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::winograd {

struct WeightsShape {
  static constexpr int64_t kMostDepths = 4;

  WeightsShape() = default;
  WeightsShape(const Extent3& kernel, const Extent3& dilations) {
    bool rest = true;  // of the axes is served
    for (int axis = 2; axis >= 0; --axis) {
      if (kernel[axis] == kKernel && axes < 2) {
        ++axes;
        tile[axis] = kTile;
        window[axis] = kWindow;
        dilation[axis] = dilations[axis];
        taps *= kKernel;
      } else if (axis == 0 && kernel[0] <= kMostDepths && (kernel[0] == 1 || dilations[0] == 1)) {
        depths = kernel[0];
      } else {
        rest = rest && kernel[axis] == 1;
      }
    }
    served = rest && axes > 0;
  }

  int64_t points() const { return kernels::WinogradPoints(axes); }
  int64_t all_taps() const { return depths * taps; }
  bool in_depth() const { return tile[0] > 1; }
  // Of an image along an axis.
  int64_t Tiles(int axis, int64_t outputs) const {
    return base::CeilDiv(outputs, tile[axis] * dilation[axis]) * dilation[axis];
  }
  // Inputs that adjoining tiles reach besides as many as they have outputs.
  int64_t Margin(int axis) const { return (window[axis] - tile[axis]) * dilation[axis]; }

  bool served = false;
  int axes = 0;                            // transformed
  Extent3 tile{1, 1, 1}, window{1, 1, 1};  // outputs and inputs of a tile
  Extent3 dilation{1, 1, 1};               // from each of them to the next, as in tiling.h
  int64_t taps = 1;                        // kernel offsets that one product gives
  int64_t depths = 1;                      // products
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_WEIGHTS_SHAPE_H_
