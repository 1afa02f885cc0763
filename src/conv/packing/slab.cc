// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/slab.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::conv::packing {
namespace {

constexpr int64_t kPixelsAhead = 4;
constexpr int64_t kElementsAhead = 2048, kMostLinesAhead = 16;  // of lines whose pixels lie apart

// The pixels of a line, one element of each: from some rows, in which they lie `step` apart.
struct Grid {
  int64_t row_step, rows, step, columns;
  int64_t count() const { return rows * columns; }
};

// The elements of a slab: channels. Images are numbered from the slab's first.
class Channels {
 public:
  static constexpr int64_t kImages = 1;  // of an element

  Channels(const LineReader& reader, const Operand& operand, const SlabShape& shape)
      : reader_(reader), stride_(operand.strides[1]), count_(shape.channels) {}

  int64_t count() const { return count_; }
  void TakeImage(int64_t) {}  // what follows is of this one
  // Pixels of neighbouring elements to to[offsets[pixel] + element]; false: nothing was done.
  bool Transpose(int64_t offset, int64_t element, int64_t step, int64_t elements, int64_t count, float* to,
                 const int64_t* offsets) const {
    return step == 1 && reader_.Transpose(offset + element * stride_, stride_, elements, count, to, offsets);
  }
  // Pixels of an element, while those of one to come are asked for: they are too far apart for the processor to
  // foresee.
  void FetchLine(int64_t offset, int64_t element, const Grid& grid, float* to) const {
    const int64_t first = offset + element * stride_;
    if (grid.step == 1) return reader_.FetchRun(first, grid.count(), to);
    // Of expanded tensors and of those that are read backwards the step is not positive.
    const int64_t reach = grid.columns * grid.step, lines = kElementsAhead / std::max<int64_t>(1, grid.rows * reach);
    const int64_t coming = element + std::clamp<int64_t>(lines, 1, kMostLinesAhead);
    for (int64_t r = 0; r < grid.rows && coming < count_; ++r) {
      reader_.Prefetch(offset + coming * stride_ + r * grid.row_step, reach - grid.step + 1);
    }
    reader_.FetchGrid(first, grid.row_step, grid.rows, grid.step, grid.columns, to);
  }
  // Elements of a pixel, whose channels lie side by side.
  void FetchElements(int64_t offset, int64_t element, int64_t count, float* to) const {
    reader_.FetchRun(offset + element, count, to);
  }
  void PrefetchElements(int64_t offset) const { reader_.Prefetch(offset, count_); }

 private:
  const LineReader& reader_;
  int64_t stride_, count_;
};

// Likewise: pairs of channels.
class ChannelPairs {
 public:
  static constexpr int64_t kImages = 1;

  ChannelPairs(const PairReader& reader, const Operand& operand, const SlabShape& shape)
      : reader_(reader), stride_(operand.strides[1]), channels_(shape.channels) {}

  int64_t count() const { return base::CeilDiv(channels_, int64_t{2}); }
  void TakeImage(int64_t) {}
  static bool Transpose(int64_t, int64_t, int64_t, int64_t, int64_t, float*, const int64_t*) { return false; }
  void FetchLine(int64_t offset, int64_t element, const Grid& grid, float* to) const {
    reader_.FetchGrid(offset + 2 * element * stride_, stride_, 2 * element + 1 == channels_, grid.row_step, grid.rows,
                      grid.step, grid.columns, to, grid.columns);
  }
  void FetchElements(int64_t offset, int64_t element, int64_t count, float* to) const {
    reader_.FetchRun(offset + 2 * element, std::min(2 * count, channels_ - 2 * element), to);
  }
  void PrefetchElements(int64_t) const {}

 private:
  const PairReader& reader_;
  int64_t stride_, channels_;
};

// Likewise: channels of pairs of images.
class ImagePairs {
 public:
  static constexpr int64_t kImages = 2;

  ImagePairs(const PairReader& reader, const Operand& operand, int64_t batch, const SlabShape& shape)
      : reader_(reader), operand_(operand), batch_(batch), shape_(shape) {}

  int64_t count() const { return shape_.channels; }
  void TakeImage(int64_t image) { alone_ = 2 * (shape_.first_image + image) + 1 == batch_; }
  static bool Transpose(int64_t, int64_t, int64_t, int64_t, int64_t, float*, const int64_t*) { return false; }
  void FetchLine(int64_t offset, int64_t element, const Grid& grid, float* to) const {
    reader_.FetchGrid(offset + element * operand_.strides[1], operand_.strides[0], alone_, grid.row_step, grid.rows,
                      grid.step, grid.columns, to, grid.columns);
  }
  void FetchElements(int64_t offset, int64_t element, int64_t count, float* to) const {
    reader_.FetchLine(offset + element, operand_.strides[0], alone_, 1, count, to);
  }
  void PrefetchElements(int64_t) const {}

 private:
  const PairReader& reader_;
  const Operand& operand_;
  int64_t batch_;
  const SlabShape& shape_;
  bool alone_ = false;
};

template <class Elements>
class Loader {
 public:
  Loader(const Elements& elements, const Operand& operand, const SlabShape& shape, const SlabScratch& scratch,
         float* slab)
      : elements_(elements), operand_(operand), s_(shape), scratch_(scratch), slab_(slab) {
    step_ = s_.axes[2].step * operand.strides[4];
    // Whole rows that follow one another in memory are one line of pixels.
    row_ = s_.axes[2].count;
    rows_ = s_.axes[1].count;
    if (s_.axes[1].step * operand.strides[3] == row_ * step_) {
      row_ *= rows_;
      rows_ = 1;
    }
    const int64_t columns = s_.axes[2].count;
    line_ = Alike() ? kLine / columns * columns : kLine;
    by_channels_ = operand.strides[1] == 1 && step_ != 1 && s_.channels > 1;
    // Rows that are picked anyway may lie anywhere.
    if (!by_channels_ && step_ != 1) together_ = std::clamp<int64_t>(kLine / row_, 1, rows_);
  }

  void Run() {
    if (Alike()) ListPixels(0, std::min(line_, together_ * row_));
    for (int64_t n = 0; n < s_.images; ++n) {
      elements_.TakeImage(n);
      for (int64_t d = 0; d < s_.axes[0].count; ++d) {
        for (int64_t h = 0; h < rows_; h += together_) {
          const int64_t offset = s_.first_channel * operand_.strides[1] +
                                 (s_.first_image + n) * Elements::kImages * operand_.strides[0] + Offset(0, d) +
                                 Offset(1, h) + Offset(2, 0);
          float* to = slab_ + ((d * rows_ + h) * row_ * s_.images + n) * s_.panel;
          by_channels_ ? LoadChannelLines(offset, to) : LoadPixelLines(offset, std::min(together_, rows_ - h), to);
        }
      }
    }
  }

 private:
  int64_t Offset(int axis, int64_t index) const {
    return (s_.axes[axis].begin + index * s_.axes[axis].step) * operand_.strides[2 + axis];
  }

  // Where pixels `first` to `first + count` of a row stand from its first on. Each is found from the one before:
  // divisions take longer than all else here.
  void ListPixels(int64_t first, int64_t count) const {
    const int64_t apart = s_.images * s_.panel, columns = s_.axes[2].count, phases = s_.phases;
    int64_t* offsets = scratch_.offsets;
    if (phases == 1) {
      for (int64_t i = 0; i < count; ++i) offsets[i] = (first + i) * apart;
      return;
    }
    const int64_t least = columns / phases, longer = columns % phases;  // of a phase; phases of one more
    int64_t w = first % columns, row = first - w, place = s_.Column(w), phase = w % phases, in_phase = w / phases;
    for (int64_t i = 0; i < count; ++i) {
      offsets[i] = (row + place) * apart;
      place += least + (phase < longer ? 1 : 0);
      if (++phase == phases) {
        phase = 0;
        place = ++in_phase;
      }
      if (++w == columns) {
        row += columns;
        w = place = phase = in_phase = 0;
      }
    }
  }

  // Whether all lines place their pixels alike, from their first on: they are whole rows.
  bool Alike() const { return s_.axes[2].count <= kLine; }

  // Calls visit(pixel, count, to) for each line of a row: its first pixel, and what the listed offsets count from.
  template <class Visit>
  void ForEachLine(float* to, const Visit& visit) const {
    for (int64_t first = 0; first < row_; first += line_) {
      const int64_t count = std::min(line_, row_ - first);
      if (!Alike()) ListPixels(first, count);
      visit(first, count, Alike() ? to + first * s_.images * s_.panel : to);
    }
  }

  // One row of pixels: `to` is its first pixel in panel 0. All panels of a pixel together: its channels lie side by
  // side.
  void LoadChannelLines(int64_t offset, float* to) const {
    ForEachLine(to, [&](int64_t first, int64_t count, float* line) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = first + i;
        // Pixels are too far apart for the processor to foresee.
        if (at + kPixelsAhead < row_) elements_.PrefetchElements(offset + (at + kPixelsAhead) * step_);
        float* pixel = line + scratch_.offsets[i];
        for (int64_t c = 0; c < elements_.count(); c += s_.panel, pixel += s_.PanelFloats()) {
          elements_.FetchElements(offset + at * step_, c, std::min(s_.panel, elements_.count() - c), pixel);
        }
      }
    });
  }

  void LoadPixelLines(int64_t offset, int64_t rows, float* to) const {
    ForEachLine(to, [&](int64_t first, int64_t count, float* line) {
      const Grid grid{s_.axes[1].step * operand_.strides[3], rows, step_, count};
      for (int64_t c = 0; c < elements_.count();) {
        const int64_t in_panel = c % s_.panel;
        const int64_t lines = std::min({kLines, elements_.count() - c, s_.panel - in_panel});
        float* at = line + c / s_.panel * s_.PanelFloats() + in_panel;
        TransposeLines(offset + first * step_, c, lines, grid, at);
        c += lines;
      }
    });
  }

  void TransposeLines(int64_t offset, int64_t first, int64_t lines, const Grid& grid, float* to) const {
    if (elements_.Transpose(offset, first, step_, lines, grid.columns, to, scratch_.offsets)) return;
    constexpr int64_t kBetween = kLine + kernels::kLineSlack;
    for (int64_t i = 0; i < lines; ++i) {
      elements_.FetchLine(offset, first + i, grid, scratch_.lines + i * kBetween);
    }
    kernels::Lines().transpose(scratch_.lines, kBetween, lines, grid.count(), to, scratch_.offsets);
  }

  Elements elements_;
  const Operand& operand_;
  const SlabShape& s_;
  const SlabScratch& scratch_;
  float* slab_;
  int64_t step_ = 1, row_ = 0, rows_ = 0;  // elements from pixel to pixel; pixels of a row; rows of a depth
  int64_t together_ = 1;                   // rows of a line, if they do not follow one another
  int64_t line_ = kLine;                   // pixels of a line of a row, at most
  bool by_channels_ = false;               // lines of channels, else of pixels
};

}  // namespace

void LoadSlab(const LineReader& reader, const Operand& operand, const SlabShape& shape, const SlabScratch& scratch,
              float* slab) {
  if (shape.pixels() * shape.channels == 0) return;
  Loader(Channels(reader, operand, shape), operand, shape, scratch, slab).Run();
}

void LoadChannelPairs(const PairReader& reader, const Operand& operand, const SlabShape& shape,
                      const SlabScratch& scratch, float* slab) {
  if (shape.pixels() * shape.channels == 0) return;
  Loader(ChannelPairs(reader, operand, shape), operand, shape, scratch, slab).Run();
}

void LoadImagePairs(const PairReader& reader, const Operand& operand, int64_t batch, const SlabShape& shape,
                    const SlabScratch& scratch, float* slab) {
  if (shape.pixels() * shape.channels == 0) return;
  Loader(ImagePairs(reader, operand, batch, shape), operand, shape, scratch, slab).Run();
}

}  // namespace canopy::conv::packing
