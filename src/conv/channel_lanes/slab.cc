// SPDX-License-Identifier: Apache-2.0
#include "conv/channel_lanes/slab.h"

#include <algorithm>

namespace canopy::conv::channel_lanes {
namespace {

class Loader {
 public:
  Loader(const LineReader& reader, const Operand& operand, const SlabShape& shape, const SlabScratch& scratch,
         float* slab)
      : reader_(reader), operand_(operand), s_(shape), scratch_(scratch), slab_(slab) {
    step_ = s_.axes[2].step * operand.strides[4];
    // Whole rows that follow one another in memory are one line of pixels.
    row_ = s_.axes[2].count;
    rows_ = s_.axes[1].count;
    if (s_.axes[1].step * operand.strides[3] == row_ * step_) {
      row_ *= rows_;
      rows_ = 1;
    }
  }

  void Run() const {
    const bool by_channels = operand_.strides[1] == 1 && step_ != 1 && s_.channels > 1;
    if (!by_channels) {
      for (int64_t i = 0; i < std::min(row_, kLine); ++i) scratch_.offsets[i] = i * s_.images * s_.panel;
    }
    for (int64_t n = 0; n < s_.images; ++n) {
      for (int64_t d = 0; d < s_.axes[0].count; ++d) {
        for (int64_t h = 0; h < rows_; ++h) {
          const int64_t offset = s_.first_channel * operand_.strides[1] + (s_.first_image + n) * operand_.strides[0] +
                                 Offset(0, d) + Offset(1, h) + Offset(2, 0);
          float* to = slab_ + ((d * rows_ + h) * row_ * s_.images + n) * s_.panel;
          by_channels ? LoadChannelLines(offset, to) : LoadPixelLines(offset, to);
        }
      }
    }
  }

 private:
  int64_t Offset(int axis, int64_t index) const {
    return (s_.axes[axis].begin + index * s_.axes[axis].step) * operand_.strides[2 + axis];
  }

  // One row of pixels: `to` is its first pixel in panel 0.
  void LoadChannelLines(int64_t offset, float* to) const {
    for (int64_t c = 0; c < s_.channels; c += s_.panel) {
      const int64_t count = std::min(s_.panel, s_.channels - c);
      float* pixel = to + c / s_.panel * s_.PanelFloats();
      for (int64_t i = 0; i < row_; ++i, pixel += s_.images * s_.panel) {
        reader_.FetchRun(offset + c + i * step_, count, pixel);
      }
    }
  }

  void LoadPixelLines(int64_t offset, float* to) const {
    for (int64_t first = 0; first < row_; first += kLine) {
      const int64_t count = std::min(kLine, row_ - first);
      for (int64_t c = 0; c < s_.channels;) {
        const int64_t in_panel = c % s_.panel;
        const int64_t channels = std::min({kLines, s_.channels - c, s_.panel - in_panel});
        float* at = to + c / s_.panel * s_.PanelFloats() + first * s_.images * s_.panel + in_panel;
        TransposeLines(offset + c * operand_.strides[1] + first * step_, channels, count, at);
        c += channels;
      }
    }
  }

  void TransposeLines(int64_t offset, int64_t channels, int64_t count, float* to) const {
    int64_t between = operand_.strides[1];
    const float* lines = reader_.Direct(offset, step_);
    if (lines == nullptr) {
      const kernels::Segment whole{0, 0, static_cast<int32_t>(count)};
      between = kLine + kernels::kLineSlack;
      for (int64_t c = 0; c < channels; ++c) {
        float* line = scratch_.lines + c * between;
        if (step_ == 1) {
          reader_.FetchRun(offset + c * operand_.strides[1], count, line);
        } else {
          reader_.Fetch(offset + c * operand_.strides[1], &whole, 1, step_, count, line);
        }
      }
      lines = scratch_.lines;
    }
    kernels::Lines().transpose(lines, between, channels, count, to, scratch_.offsets);
  }

  const LineReader& reader_;
  const Operand& operand_;
  const SlabShape& s_;
  const SlabScratch& scratch_;
  float* slab_;
  int64_t step_ = 1, row_ = 0, rows_ = 0;  // elements from pixel to pixel; pixels of a line; lines of a depth
};

}  // namespace

void LoadSlab(const LineReader& reader, const Operand& operand, const SlabShape& shape, const SlabScratch& scratch,
              float* slab) {
  if (shape.pixels() * shape.channels > 0) Loader(reader, operand, shape, scratch, slab).Run();
}

}  // namespace canopy::conv::channel_lanes
