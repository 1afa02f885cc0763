// SPDX-License-Identifier: Apache-2.0
// A slab is an FP32 copy of a block of a tensor with its channels side by side, whatever the tensor's layout:
//   slab[panel of c][((d * height + h) * width + w) * images + n][c within the panel]
// Nothing in it is padding. For dot products it holds BF16 numbers, and either c counts pairs of channels or n
// counts pairs of images; 0 completes the last pair.
#ifndef CANOPY_CONV_PACKING_SLAB_H_
#define CANOPY_CONV_PACKING_SLAB_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "conv/packing/axis_classes.h"
#include "conv/pair_reader.h"
#include "conv/problem.h"
#include "conv/tensor_lines.h"

namespace canopy::conv::packing {

// Which block.
struct SlabShape {
  int64_t first_image = 0, images = 0;
  std::array<AxisRange, 3> axes;
  int64_t first_channel = 0, channels = 0;
  int64_t panel = 0;   // channels of one, or pairs
  int64_t phases = 1;  // columns of a row that lie so far apart stand side by side

  int64_t pixels() const { return images * axes[0].count * axes[1].count * axes[2].count; }
  int64_t PanelFloats() const { return pixels() * panel; }
  // Pixel (0, d, h, w) by indices into the ranges, in pixels.
  int64_t Pixel(int64_t d, int64_t h, int64_t w) const {
    return ((d * axes[1].count + h) * axes[2].count + Column(w)) * images;
  }
  // Where a column stands in its row.
  int64_t Column(int64_t w) const {
    if (phases == 1) return w;
    const int64_t phase = w % phases, columns = axes[2].count;
    return phase * (columns / phases) + std::min(phase, columns % phases) + w / phases;
  }
};

// Working memory of Load: a line for each of kLines channels, and offsets of kLine pixels.
inline constexpr int64_t kLines = 16, kLine = 256;
struct SlabScratch {
  static constexpr int64_t kBytes = (kLines * (kLine + kernels::kLineSlack)) * 4 + kLine * 8;
  float* lines;
  int64_t* offsets;
};

// Leave what lies between the last element and the end of its panel as it is.
void LoadSlab(const LineReader& reader, const Operand& operand, const SlabShape& shape, const SlabScratch& scratch,
              float* slab);
void LoadChannelPairs(const PairReader& reader, const Operand& operand, const SlabShape& shape,
                      const SlabScratch& scratch, float* slab);
// Of a tensor of `batch` images.
void LoadImagePairs(const PairReader& reader, const Operand& operand, int64_t batch, const SlabShape& shape,
                    const SlabScratch& scratch, float* slab);

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_SLAB_H_
