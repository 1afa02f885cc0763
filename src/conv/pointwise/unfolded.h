// SPDX-License-Identifier: Apache-2.0
// The input as the products of a 1x1 kernel see it: where the stride is at least the kernel, no two kernel offsets
// meet the same pixel, so every offset of a channel is a channel for itself, and its pixels are numbered like the
// output's, through all images. The channels that differ in the last axis' offset alone are a bundle: they take turns
// in the same rows of the input.
#ifndef CANOPY_CONV_POINTWISE_UNFOLDED_H_
#define CANOPY_CONV_POINTWISE_UNFOLDED_H_

#include <algorithm>
#include <cstdint>

#include "conv/packing/slab.h"
#include "conv/pair_reader.h"
#include "conv/problem.h"
#include "conv/tensor_lines.h"

namespace canopy::conv::pointwise {

// Channels of a bundle that are worth the working memory.
inline constexpr int64_t kMostBundle = 256;

// Whether a 1x1 kernel over the unfolded input computes the same.
bool Unfolds(const Geometry& geometry);

// Whether the kernel offsets' weights lie like those of so many channels.
bool WeightsUnfold(const Geometry& geometry, const Operand& weight);

// The problem of that 1x1 kernel, but for the input's operands. REQUIRES: all of the above.
ConvProblem ProductOf(const ConvProblem& problem);

struct Range {
  int64_t first, count;
};

class Unfolded {
 public:
  Unfolded() = default;
  Unfolded(const Geometry& geometry, const Operand& operand);

  // Counts through bundles and through output rows, those of all images; none of this divides. The bundle's first
  // column in the row lies at the sum of their offsets.
  struct Bundle {
    int64_t channel, depth, height, offset;
  };
  struct Row {
    int64_t depth, height, offset;
  };

  int64_t bundle() const { return kernel_[2]; }  // channels of one
  int64_t width() const { return width_; }       // pixels of an output row
  int64_t column_stride() const { return stride_[2]; }
  int64_t row_step() const { return row_step_; }  // elements from a row that an output row meets to the next one
  int64_t channel_stride() const { return strides_[1]; }

  // The input's channels that some unfolded ones come from.
  Range ChannelsOf(const Range& unfolded) const;

  Bundle BundleAt(int64_t index) const;
  Row RowAt(int64_t index) const;
  void Next(Bundle* bundle) const;
  void Next(Row* row) const;
  void Skip(int64_t rows, Row* row) const;  // as many of its plane

  // Elements from there to the next row that any bundle meets, or to the plane's end. REQUIRES: planes are runs.
  int64_t Reach(const Bundle& bundle, const Row& row) const;

  // Rows from there on in one plane that reach as far.
  int64_t RowsAlike(const Bundle& bundle, const Row& row) const;

  // to[(c - channels.first) * to_step + p - pixels.first] = channel c, pixel p.
  void Fetch(const LineReader& reader, const Range& channels, const Range& pixels, float* to, int64_t to_step) const;

  // The pixels of one channel as BF16 numbers side by side, pair by pair; 0 completes the last.
  void FetchNumbers(const PairReader& reader, int64_t channel, const Range& pixels, float* to) const;

  // Elements between which a channel's pixels of an image lie, those that no bundle meets too; from the channel's first
  // on, or none where columns are no neighbours.
  Range StretchOf(const Range& pixels) const;

  // Like Fetch, but with channels side by side, in panels: slab[panel of c][p][c within the panel].
  void FetchLanes(const LineReader& reader, const Range& channels, const Range& pixels, int64_t panel,
                  const packing::SlabScratch& scratch, float* slab) const;

 private:
  // Neighbours among pixels: a part of an output row, or several whole ones of a plane.
  struct Run {
    int64_t pixel, rows, columns, offset;
  };

  template <class F>
  void ForEachRun(const Range& pixels, const F& visit) const;
  void FetchChannel(const LineReader& reader, int64_t offset, const Run& run, float* to) const;

  Extent3 kernel_{1, 1, 1}, stride_{1, 1, 1}, input_size_{}, output_size_{};
  std::array<int64_t, 5> strides_{};
  int64_t width_ = 0, column_step_ = 1, row_step_ = 0;
};

// Inline: they run once a row.
inline void Unfolded::Next(Bundle* b) const {
  b->offset += strides_[3];
  if (++b->height < kernel_[1]) return;
  b->height = 0;
  b->offset += strides_[2] - kernel_[1] * strides_[3];
  if (++b->depth < kernel_[0]) return;
  b->depth = 0;
  ++b->channel;
  b->offset += strides_[1] - kernel_[0] * strides_[2];
}

inline void Unfolded::Next(Row* r) const {
  const int64_t depth_step = stride_[0] * strides_[2];
  r->offset += row_step_;
  if (++r->height < output_size_[1]) return;
  r->height = 0;
  r->offset += depth_step - output_size_[1] * row_step_;
  if (++r->depth < output_size_[0]) return;
  r->depth = 0;
  r->offset += strides_[0] - output_size_[0] * depth_step;
}

inline void Unfolded::Skip(int64_t rows, Row* r) const {
  r->offset += (rows - 1) * row_step_;
  r->height += rows - 1;
  Next(r);
}

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_UNFOLDED_H_
