// SPDX-License-Identifier: Apache-2.0
// What weight gradients transform: one axis or two, where `side` offsets of the kernel come of tiles of 7 - side
// outputs under 6 inputs; the last tile has as many as are left, and fewer points. On the others a tile is one
// position. Where the depth is not transformed, each offset of the kernel's depth is a product of its own over the same
// tiles: of output tiles by the input tiles that many depths further.
//
// A kernel is in parts, each a product of its own of the same output tiles by other input tiles. With a stride s, part
// a is the offsets a, a + s, ..., which meet inputs of residue a (modulo s, from the padding's begin) alone, without
// stride: its input tiles are of pixels s apart. A long kernel without stride has parts of `side` adjoining offsets,
// whose input tiles begin as many pixels further. A part that has fewer offsets than `side` does not need the point at
// infinity, which only the last offset has a part of.
#ifndef CANOPY_CONV_WINOGRAD_WEIGHTS_SHAPE_H_
#define CANOPY_CONV_WINOGRAD_WEIGHTS_SHAPE_H_

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "conv/problem.h"
#include "conv/winograd/sizes.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::winograd {

struct WeightsShape {
  static constexpr int64_t kMostDepths = 4;
  static constexpr int64_t kMostOffsets = kernels::kMostWinogradKernel * kernels::kMostWinogradKernel;  // of a part
  static constexpr int64_t kMostParts = 8;

  WeightsShape() = default;
  // That with the fewest products.
  explicit WeightsShape(const Geometry& g) {
    for (int64_t side = kernels::kLeastWinogradKernel; side <= kernels::kMostWinogradKernel; ++side) {
      const WeightsShape shape(g, side);
      if (shape.served && (!served || shape.Products(g.output_size) < Products(g.output_size))) *this = shape;
    }
  }
  WeightsShape(const Geometry& g, int64_t offsets_a_part) : side(offsets_a_part) {
    bool others = true;  // are served
    for (int axis = 2; axis >= 0; --axis) {
      if (axes < 2 && Transform(g, axis)) {
        ++axes;
        tile[axis] = kWindow + 1 - side;
        window[axis] = kWindow;
        kernel[axis] = g.kernel[axis];
        stride[axis] = g.stride[axis];
        dilation[axis] = g.dilation[axis];
        rest[axis] = Rest(axis, g.output_size[axis]);
      } else if (axis == 0 && g.stride[0] <= g.kernel[0] && g.kernel[0] <= kMostDepths &&
                 (g.kernel[0] == 1 || g.dilation[0] == 1)) {
        depths = g.kernel[0];
        depth_stride = g.stride[0];
      } else {
        others = others && g.kernel[axis] == 1 && g.stride[axis] == 1;
      }
    }
    served = others && axes > 0 && parts() <= kMostParts;
  }

  bool transforms(int axis) const { return window[axis] > 1; }
  bool in_depth() const { return transforms(0); }
  int64_t tile_pixels() const { return tile[0] * tile[1] * tile[2]; }
  int64_t points() const { return kernels::WinogradPoints(axes); }
  int64_t parts(int axis) const { return stride[axis] > 1 ? stride[axis] : base::CeilDiv(kernel[axis], side); }
  int64_t parts() const { return parts(0) * parts(1) * parts(2); }
  int64_t products() const { return depths * parts(); }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }  // kernel offsets that products of a depth give
  int64_t all_taps() const { return depths * taps(); }
  // Of an image along an axis.
  int64_t Tiles(int axis, int64_t outputs) const {
    return base::CeilDiv(outputs, tile[axis] * dilation[axis]) * dilation[axis];
  }
  // Input depths that `outputs` adjoining ones meet, where depths are products.
  int64_t InputDepths(int64_t outputs) const { return (outputs - 1) * depth_stride + depths; }
  // Inputs that adjoining outputs reach.
  int64_t Reach(int axis, int64_t outputs) const {
    return outputs == 0 ? 0 : (outputs - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1;
  }
  // From each pixel of an input tile to the next.
  Extent3 InputStep() const { return {dilation[0] * stride[0], dilation[1] * stride[1], dilation[2] * stride[2]}; }

  // From each part to the next, in offsets of the kernel.
  int64_t part_step(int axis) const { return stride[axis] > 1 ? 1 : side; }
  Extent3 PartAt(int64_t part) const {
    return {part / (parts(1) * parts(2)), part / parts(2) % parts(1), part % parts(2)};
  }
  // Its first inputs, from those of part 0.
  Extent3 InputsOf(const Extent3& part) const {
    Extent3 first;
    for (int axis = 0; axis < 3; ++axis) first[axis] = part[axis] * part_step(axis) * dilation[axis];
    return first;
  }
  int64_t Offsets(int axis, int64_t part) const {
    return std::min(side, base::CeilDiv(kernel[axis] - part * part_step(axis), stride[axis]));
  }
  // Whether the products at a point have a share in some offset.
  bool Needs(const Extent3& part, int64_t point) const {
    for (int axis = 2; axis >= 0; --axis) {
      if (!transforms(axis)) continue;
      if (point % kWindow == kWindow - 1 && Offsets(axis, part[axis]) < side) return false;
      point /= kWindow;
    }
    return true;
  }
  // Which kinds of tiles have no numbers at a point: those that share a bit.
  int KindsWithout(int64_t point) const {
    int bits = 0;
    for (int axis = 2; axis >= 0; --axis) {
      if (!transforms(axis)) continue;
      const int64_t at = point % kWindow;
      if (at + 1 >= pixels(axis, true) && at + 1 < kWindow) bits |= KindBit(axis);
      point /= kWindow;
    }
    return bits;
  }
  // Of a kind of tile, of a transformed axis: whether it is the last along that.
  int KindBit(int axis) const {
    int bit = 1;
    for (int inner = axis + 1; inner < 3; ++inner) bit <<= transforms(inner) ? 1 : 0;
    return bit;
  }
  int64_t pixels(int axis, bool last) const { return last ? rest[axis] + window[axis] - tile[axis] : window[axis]; }
  Extent3 OutputsOf(int kind) const {
    Extent3 outputs = tile;
    for (int axis = 0; axis < 3; ++axis) {
      if (transforms(axis) && (kind & KindBit(axis)) != 0) outputs[axis] = rest[axis];
    }
    return outputs;
  }
  Extent3 WindowOf(int kind) const {
    Extent3 pixels = OutputsOf(kind);
    for (int axis = 0; axis < 3; ++axis) pixels[axis] += window[axis] - tile[axis];
    return pixels;
  }
  kernels::WinogradInFn window_in(int kind) const {
    const Sides sides = SidesOf(WindowOf(kind));
    return kernels::Winograd(axes).input[sides.rows][sides.columns];
  }
  kernels::WinogradInFn outputs_in(int kind) const {
    const Sides sides = SidesOf(OutputsOf(kind));
    return kernels::Winograd(axes).kernel[sides.rows][sides.columns];
  }
  kernels::WinogradOutFn taps_out() const {
    return kernels::Winograd(axes).results[kWindow + 1 - side][axes == 1 ? 1 : side][side];
  }
  int64_t NeededPoints() const {  // of all parts of a whole tile
    int64_t points = 1;
    for (int axis = 0; axis < 3; ++axis) {
      if (!transforms(axis)) continue;
      int64_t sum = 0;
      for (int64_t part = 0; part < parts(axis); ++part) sum += Offsets(axis, part) < side ? kWindow - 1 : kWindow;
      points *= sum;
    }
    return points;
  }
  // Of all parts and tiles of an image: pairs of a tile and a point.
  double Products(const Extent3& outputs) const {
    double products = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t tiles = Tiles(axis, outputs[axis]);
      if (!transforms(axis) || tiles == 0) {
        products *= static_cast<double>(tiles);
        continue;
      }
      int64_t sum = 0;
      for (int64_t part = 0; part < parts(axis); ++part) {
        const int64_t missing = Offsets(axis, part) < side ? 1 : 0;
        sum += (tiles - 1) * (kWindow - missing) + pixels(axis, true) - missing;
      }
      products *= static_cast<double>(sum);
    }
    return products;
  }
  // Which tap result `index` of a product is, or `none`.
  int64_t TapOf(const Extent3& part, int64_t index, int64_t none) const {
    int64_t tap = 0, next = 1;
    for (int axis = 2; axis >= 0; --axis) {
      if (!transforms(axis)) continue;
      const int64_t offset = part[axis] * part_step(axis) + index % side * stride[axis];
      if (offset >= kernel[axis]) return none;
      tap += offset * next;
      next *= kernel[axis];
      index /= side;
    }
    return tap;
  }

  static constexpr int kKinds = 4;  // of tiles

  bool served = false;
  int axes = 0;                            // transformed
  int64_t side = 1;                        // kernel offsets of a part along each of them
  Extent3 tile{1, 1, 1}, window{1, 1, 1};  // outputs and inputs of a tile
  Extent3 rest{1, 1, 1};                   // outputs of the last tile
  Extent3 kernel{1, 1, 1}, stride{1, 1, 1};
  Extent3 dilation{1, 1, 1};  // from each output of a tile to the next, as in tiling.h
  int64_t depths = 1;         // of the kernel, where those are products
  int64_t depth_stride = 1;   // likewise

 private:
  struct Sides {
    int64_t rows, columns;  // a line has one row
  };
  Sides SidesOf(const Extent3& extent) const {
    const int64_t columns = extent[transforms(2) ? 2 : transforms(1) ? 1 : 0];
    return {extent[0] * extent[1] * extent[2] / columns, columns};
  }
  bool Transform(const Geometry& g, int axis) const {
    if (g.kernel[axis] < kernels::kLeastWinogradKernel || (g.stride[axis] > 1 && g.dilation[axis] > 1)) return false;
    const int64_t offsets = base::CeilDiv(g.kernel[axis], g.stride[axis]);
    return g.stride[axis] == 1 ? offsets <= kMostParts * side : offsets >= 2 && offsets <= side;
  }
  // Tiles that lie in one another end in different places: those, and what a window of the fewest points has, hang
  // over.
  int64_t Rest(int axis, int64_t outputs) const {
    if (dilation[axis] > 1 || outputs == 0) return tile[axis];
    return std::max(outputs - (Tiles(axis, outputs) - 1) * tile[axis], kernels::kFewestWinogradPoints + 1 - side);
  }
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_WEIGHTS_SHAPE_H_
