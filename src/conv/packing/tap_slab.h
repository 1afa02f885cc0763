// SPDX-License-Identifier: Apache-2.0
// The input under a strip of output, in which every tap of the kernel is a shift:
//   slab[input channel][depth tap][residue of the row][residue of the position][row][position]
// Residues are those of the stride; zeros stand where there is no input. Elements are floats, or the patterns of BF16
// numbers, which are then what is counted as floats below.
#ifndef CANOPY_CONV_PACKING_TAP_SLAB_H_
#define CANOPY_CONV_PACKING_TAP_SLAB_H_

#include <cstdint>
#include <vector>

#include "conv/packing/strips.h"
#include "conv/pair_reader.h"
#include "conv/problem.h"
#include "conv/tensor_lines.h"

namespace canopy::conv::packing {

// Of a job's slab, which stays in the L2: 512 KiB.
inline constexpr int64_t kMostTapSlabFloats = 128 << 10;

class TapSlab {
 public:
  TapSlab() = default;
  // Rows lie a multiple of `multiple` floats apart.
  TapSlab(const Geometry& geometry, int64_t strip_rows, int64_t strip_columns, int64_t multiple);

  // Of one channel; INT64_MAX where they are too many to count.
  static int64_t ChannelFloats(const Geometry& geometry, int64_t strip_rows, int64_t strip_columns, int64_t multiple);

  int64_t rows() const { return rows_; }    // of a residue under a whole strip
  int64_t pitch() const { return pitch_; }  // from row to row
  int64_t plane_floats() const { return rows_ * pitch_; }
  int64_t line_floats() const { return residues_ * pitch_; }  // of a row of input
  int64_t channel_floats() const { return channel_floats_; }

  // Where the element of the strip's first pixel is under each tap of `channels` channels.
  void ListTaps(const Geometry& geometry, int64_t channels, int64_t* offsets) const;

  // `first_channel` is the tensor's; `line` holds line_floats() and kernels::kLineSlack more.
  void Fill(const ConvProblem& problem, const LineReader& input, const Strip& strip, int64_t first_channel,
            int64_t channels, float* line, float* slab) const;
  void Fill(const ConvProblem& problem, const PairReader& input, const Strip& strip, int64_t first_channel,
            int64_t channels, uint16_t* slab) const;

 private:
  // What exists of a row of input under a strip, in elements of the row from the strip's first position on.
  struct Met {
    int64_t first;      // position of the tensor
    int64_t low, high;  // from there; low == high: nothing
  };

  Met MetBy(const Geometry& geometry, const Strip& strip, bool inside) const;
  // Calls fill(offset, inside, to) with each row of the slab: where the input's begins, and whether there is one.
  template <class Reader, class T, class Row>
  void ForRows(const ConvProblem& problem, const Reader& input, const Strip& strip, int64_t first_channel,
               int64_t channels, T* slab, const Row& fill) const;
  void FillRow(const ConvProblem& problem, const LineReader& input, const Strip& strip, bool inside, int64_t offset,
               float* line, float* to) const;
  void FillPairs(const LineReader& input, int64_t offset, int64_t low, int64_t high, float* to) const;

  int64_t rows_ = 0, pitch_ = 0, residues_ = 1, channel_floats_ = 0;
  std::vector<bool> rows_reached_;        // residues of rows that some tap meets
  std::vector<int64_t> residue_offsets_;  // of positions
};

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_TAP_SLAB_H_
